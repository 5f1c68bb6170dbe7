/* SPDX-License-Identifier: MIT */
/* Every dense collective, described once: buffer sizes, input, call, result.  The local worlds and the MPI tests run
 * the same table. */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "lib/collective.h"
#include "world/memory.h"

struct trial {
	choir_dtype dtype;
	choir_op op;
	size_t count;
	int n, root;
	bool in_place, device;
	const char *options; /* "algorithm=..." or NULL */
};

struct case_block {
	size_t count, off;
};

struct test_case {
	const char *name;
	bool reduces, rooted;
	bool waits; /* a pair of calls, which waits for the first one itself: not for groups, and not behind deps */
	/* elements of each buffer on this rank; 0 = none */
	size_t (*send_elems)(const struct trial *t, int rank);
	size_t (*recv_elems)(const struct trial *t, int rank);
	/* in place: where send begins within recv (elements), or recv within send if it is the larger */
	size_t (*inner)(const struct trial *t, int rank);
	double (*input)(const struct trial *t, int rank, size_t i);
	double (*result)(const struct trial *t, int rank, size_t i); /* of recv */
	/* v-forms: the blocks between this rank and a peer; NULL = blocks of count */
	void (*blocks)(const struct trial *t, int me, int peer, struct case_block *send, struct case_block *recv);
	collective_fn *call;
};

extern const struct test_case test_cases[];
extern const size_t n_test_cases;

/* alltoallv: what goes from one rank to another, and where it begins in this rank's buffers. */
size_t case_pair_count(const struct trial *t, int from, int to);
size_t case_pair_send_off(const struct trial *t, int me, int to);
size_t case_pair_recv_off(const struct trial *t, int me, int from);

/* case_call: makes the call of a trial. */
choir_status case_call(const struct test_case *tc, const struct trial *t, choir_comm *comm, choir_buffer send,
                       choir_buffer recv, const choir_call *call, choir_event **event_p);

/* case_run: one call on this rank, checked to the bit, sentinels included; failures go to the world. */
void case_run(struct world *world, int rank, choir_comm *comm, const struct test_case *tc, const struct trial *trial);

#endif
