/* SPDX-License-Identifier: MIT */
/* One choir_sparse_allreduce: random inputs of all ranks and what must come out by the plain reference; and one rank's
 * call of it in flight. */
#ifndef TESTS_SPARSE_FLIGHT_H
#define TESTS_SPARSE_FLIGHT_H

#include "sparse/reference.h"
#include "world/memory.h"

enum { SPARSE_MOST_RANKS = 17 };

/* How a rank gets its result. */
enum way { COMPLETES, ALLOCATES, RECEIVES, FALLS_SHORT, N_WAYS };

/* The same on all ranks. */
struct sparse_call {
	uint64_t seed;
	int n;
	choir_dtype ind_dtype, val_dtype;
	choir_op op;
	size_t width;
	uint64_t range; /* indices lie below */
	size_t most;    /* pairs of a rank; some have none */
	size_t spare;   /* rows that the caller's buffers have room for beyond the result */
	bool device;
	const char *options;
	choir_coalesce mode;
	choir_sparse_wire wire;
	/* of sparse_call_make: */
	size_t ind_bytes, val_bytes; /* of an index; of a row */
	struct reference_pairs in[SPARSE_MOST_RANKS], want;
	void *stored[SPARSE_MOST_RANKS]; /* indices in their dtype */
};

/* sparse_call_options: a call's options for each algorithm; NULL: the comm chooses. */
enum { SPARSE_CALL_OPTIONS = 8 };
extern const char *const sparse_call_options[SPARSE_CALL_OPTIONS];

/* sparse_call_make: the inputs and the result, of the fields before.  sparse_call_draw: everything from a seed, with at
 * most so many pairs a rank. */
void sparse_call_make(struct sparse_call *call);
void sparse_call_draw(struct sparse_call *call, uint64_t seed, int n, size_t most);
void sparse_call_free(struct sparse_call *call);

/* One rank's. */
struct sparse_flight {
	struct world *world;
	choir_comm *comm;
	int rank, calls; /* of its callback */
	const struct sparse_call *call;
	enum way way;
	struct memory send_ind, send_val, recv_ind, recv_val;
	size_t ind_count, val_count;
	unsigned char *got_ind, *got_val; /* of a completion callback */
	choir_status answer;
	choir_event *event;
};

/* sparse_flight_start: answer: of the callback; a failure has a sentence of its own.  sparse_flight_land: waits,
 * compares result, sentinels and statistics, and frees; failures go to the world.  sparse_flight_free: frees alone. */
choir_status sparse_flight_start(struct sparse_flight *flight, struct world *world, int rank, choir_comm *comm,
                                 const struct sparse_call *call, enum way way, choir_status answer);
void sparse_flight_land(struct sparse_flight *flight);
void sparse_flight_free(struct sparse_flight *flight);

/* sparse_flight_run: one call on this rank, made and checked. */
void sparse_flight_run(struct world *world, int rank, choir_comm *comm, const struct sparse_call *call, enum way way);

#endif
