/* SPDX-License-Identifier: MIT */
/* One call of a top-k state on one rank, as a script: turn of the state -> gradient reached -> accumulated -> selected
 * -> headers -> the algorithm's exchange -> result delivered -> state committed. */
#ifndef TOPK_RUN_H
#define TOPK_RUN_H

#include "exec/script.h"
#include "topk/operand.h"
#include "topk/state.h"

enum { TOPK_GRAD, TOPK_DENSE, TOPK_IND, TOPK_VAL, TOPK_INVOLVED, TOPK_AT, TOPK_OPERANDS };

/* What a rank tells the others before the exchange. */
struct topk_header {
	uint64_t selected;
	uint64_t calls;
	uint64_t room;           /* for pairs; UINT64_MAX = it wants none */
	uint64_t nan_at;         /* UINT64_MAX = none */
	uint64_t bad_at;         /* position of an index of the caller's beyond the tensor; UINT64_MAX = none */
	uint64_t involved_short; /* its list of involved entries has no room for what it selected */
};

struct topk_request {
	struct operand operands[TOPK_OPERANDS];
	choir_dtype ind_dtype;
	size_t *pairs_p, *involved_p;
	uint64_t pairs_room, involved_room;
	bool at; /* the caller has selected so many entries: */
	uint64_t at_count;
};

/* Entries of acc that were found while it was made: all with a key >= least, if they are complete. */
struct topk_candidates {
	struct topk_list list;
	uint64_t least;
	bool complete;
};

typedef choir_status (*topk_step)(struct topk_run *run, struct script_turn *turn);

/* What a step leaves in turn->what when the next step shall run at once. */
#define TOPK_GO_ON ((enum script_what) - 1)

struct topk_run {
	struct script_env env;
	struct topk_state *state; /* a reference */
	struct topk_run *next;    /* of the state's calls, in order */
	struct topk_request request;
	const struct topk_algorithm *algorithm; /* of this call: "dense" in the warm-up */
	struct topk_types types;
	struct topk_tracking tracking; /* becomes the state's */
	uint64_t k, sparse_call;       /* calls since the warm-up */
	topk_step step, deliver;       /* deliver: what follows the exchange */
	struct cached_plan *plan;
	bool failure_is_local;

	/* SCRIPT_WORK: where a step ran, and what it left */
	bool worked;
	struct script_turn left;
	struct script_outcome outcome;

	struct pool_block acc, velocity; /* the residual and momentum to be */
	struct topk_candidates candidates;
	struct topk_list selected;
	struct topk_list held;   /* what the algorithm has at the moment */
	struct topk_list kept;   /* the result */
	struct pool_block dense; /* or, of "dense", a tensor */
	struct topk_list involved;
	const void *values;     /* of the result, in the caller's dtype */
	struct pool_block mean; /* values of the result in the caller's dtype */

	struct topk_header header, *headers; /* [n] */
	uint64_t bad_at;                     /* of chosen.c */
	uint64_t *numbers;                   /* of all ranks (topk_share) */
	uint64_t *row;                       /* [n] mine to share */
	uint64_t *matrix;                    /* [n * n] pairs or bytes from (row) to (column) */
	uint64_t *counts;                    /* [n] */
	uint64_t *block_bytes;               /* [n * n] */
	uint64_t *bounds;                    /* [n + 1] of regions */
	struct pairs *lists;                 /* [n] that came, in `in` */
	struct pool_block out, in, in_values;
	struct pairs gather_mine;
	topk_step then, after_split; /* after an exchange of several plans */
	struct pairs *parts;         /* [n] that go */
	struct topk_list dropped;
	int distance; /* gtopk, spardl: of the round */
	struct {
		int phase;
		cl_event event;
		bool watched;
		cl_mem ind, val;
	} far; /* far.c */
	choir_topk_stats stats;
	int64_t last_ns; /* the end of the last step; 0 before the gradient is there */
};

/* turn.c */

/* topk_plan: the built-in rules' plan for a collective on host memory of ours, then another step. */
choir_status topk_plan(struct topk_run *run, struct script_turn *turn, struct algo_in *in, const void *send,
                       uint64_t send_bytes, void *recv, uint64_t recv_bytes, topk_step then);

/* topk_share: n_each numbers of every rank to run->numbers, rank after rank. */
choir_status topk_share(struct topk_run *run, struct script_turn *turn, const uint64_t *mine, uint64_t n_each,
                        topk_step then);

/* topk_gather: counts[r] pairs of each rank to run->lists.  One allgatherv of index and value, or (apart) one of
 * each. */
choir_status topk_gather(struct topk_run *run, struct script_turn *turn, struct pairs mine, const uint64_t *counts,
                         bool apart, topk_step then);

/* topk_exchange: run->matrix pairs from each rank to each; to[d] is what goes from here to d.  Arrives in
 * run->lists. */
choir_status topk_exchange(struct topk_run *run, struct script_turn *turn, const struct pairs *to, topk_step then);

/* topk_send_fixed: run->matrix blocks of block_bytes each, written by the caller in run->out one after another by
 * destination, to run->in likewise by source. */
choir_status topk_send_fixed(struct topk_run *run, struct script_turn *turn, uint64_t block_bytes, topk_step then);

/* A list in a block of fixed size with room for so many pairs, whatever it has. */
uint64_t topk_fixed_bytes(const struct topk_run *run, uint64_t room);
void topk_fixed_write(const struct topk_run *run, const struct pairs *list, uint64_t room, void *to);
struct pairs topk_fixed_read(const struct topk_run *run, uint64_t room, const void *from);

/* topk_join: the lists that came, one behind the other: they follow each other in the index range. */
choir_status topk_join(struct topk_run *run, struct topk_list *out);

/* topk_clear: acc, and momentum, are zero at a list's indices. */
void topk_clear(struct topk_run *run, const struct topk_list *list);

/* accumulate.c: makes acc.  above: and collects what has a key >= least, while there is room; top: what a sample says
 * the k largest are among. */
choir_status topk_accumulate(struct topk_run *run);
choir_status topk_accumulate_above(struct topk_run *run, uint64_t least, uint64_t room);
choir_status topk_accumulate_top(struct topk_run *run, uint64_t k);

/* headers.c.  make: from what was selected.  check: every rank sees the same headers, so all fail alike, nobody waits
 * for another one, and the comm goes on. */
void topk_header_make(struct topk_run *run);
choir_status topk_headers_check(const struct topk_run *run);

/* result.c.  check_room: the rooms of all ranks are in the headers, and all have the same result. */
choir_status topk_result_check_room(struct topk_run *run);
choir_status topk_result_write(struct topk_run *run);

/* far.c: a dense result that kernels fill from its pairs.  wanted: after operands_reach.  write: goes on until *done_p,
 * and rings when it is worth while to call again. */
bool topk_far_wanted(const struct topk_run *run);
choir_status topk_far_write(struct topk_run *run, bool *done_p);
void topk_far_fini(struct topk_run *run);

/* life.c.  commit: what the call made of the state is the state. */
choir_status topk_run_make(const struct script_env *env, struct topk_state *state, const struct topk_request *request,
                           struct topk_run **out_p);
void topk_run_commit(struct topk_run *run);
void topk_run_destroy(void *run);

/* script.c */
choir_status topk_run_create(const struct script_env *env, struct topk_state *state, const struct topk_request *request,
                             const struct script_ops **ops_p, void **state_p);

/* life.c.  topk_run_leave: the run is over; the next call of the state may start.  destroy does it too. */
void topk_run_leave(void *state);
void topk_run_stats(const void *state, choir_topk_stats *out);

#endif
