/* SPDX-License-Identifier: MIT */
/* One sparse allreduce as a test case: made from a seed, run on a world of scripts, compared with the plain
 * reference. */
#ifndef TESTS_SPARSE_CASE_H
#define TESTS_SPARSE_CASE_H

#include "sparse/buffers.h"
#include "sparse/reference.h"
#include "sparse/world.h"

#define MOST_RANKS 8

enum way { COMPLETES, ALLOCATES, RECEIVES, FALLS_SHORT, N_WAYS };

/* How buffers are reached and where pairs are coalesced. */
enum kind { PLAIN, MAPPED, STAGED, KERNELS, STAGED_KERNELS, N_KINDS };
extern choir_device *case_devices[N_KINDS];

/* One rank's memory and what it was given. */
struct side {
	choir_device *device;
	int rank;
	enum memory ind_in, val_in, recv; /* where its indices, its values and its result are */
	bool lends_mem;                   /* completion_fn gets cl_mem */
	struct reference_pairs in;
	void *stored; /* indices in their dtype */
	choir_buffer send_ind, send_val, recv_ind, recv_val;
	size_t ind_count, val_count, ind_bytes, elem_bytes;
	unsigned char *got_ind, *got_val;
	size_t got_ind_count, got_val_count;
	int calls;
	choir_status answer;
	bool gives_nothing;
};

struct test_case {
	uint64_t seed;
	int n, n_nodes;
	choir_dtype ind_dtype, val_dtype;
	choir_op op;
	size_t width, most_pairs;
	uint64_t base, range; /* indices lie in [base, base + range) ... */
	uint64_t apart;       /* ... of rank r, r times that further up */
	const char *algorithm;
	enum way way;
	enum memory memory; /* of all buffers ... */
	bool any_memory;    /* ... or each rank's input and result in any kind that there is */
	bool mixed;         /* odd ranks coalesce by kernels */
	bool specials;      /* values with NaN, infinities and zeros of both signs */
	choir_coalesce mode;
	choir_sparse_wire wire;
	struct choice_memory *memories; /* [n] of the comms; NULL = they remember nothing */
	const struct nt_choice *nt;     /* [n] of the comms; NULL = there is no choice */
	int hot;                        /* this rank has ten times the pairs; 0 = all alike, -r = rank r has none */
	bool first_has_none;            /* neither has rank 0 */
};

/* case_open, case_close: the devices of all kinds, for cmocka_run_group_tests. */
int case_open(void **state);
int case_close(void **state);

/* case_fill: a rank's random input; case_call: its call with receive buffers of that capacity in pairs (half of it for
 * FALLS_SHORT). */
void case_fill(struct side *side, const struct test_case *c, int rank, uint64_t *seed, choir_device *device);
struct sparse_call case_call(struct side *side, const struct test_case *c, size_t capacity);
void case_free(struct side *side);

/* case_run: the whole case; fails the test with the seed and what differs. */
void case_run(const struct test_case *c, choir_device *device);

#endif
