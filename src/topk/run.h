/* SPDX-License-Identifier: MIT */
/* One call of a top-k state on one rank, as a script: turn of the state -> gradient reached -> accumulated -> selected
 * -> headers -> the algorithm's exchange -> result delivered -> state committed. */
#ifndef TOPK_RUN_H
#define TOPK_RUN_H

#include "exec/script.h"
#include "sparse/mean_std.h"
#include "sparse/select_kernel.h"
#include "topk/operand.h"
#include "topk/state.h"

/* The operands of a call; the gradients of its tensors follow, and then their dense results. */
enum { TOPK_IND, TOPK_VAL, TOPK_INVOLVED, TOPK_AT, TOPK_TENSORS };

/* A rank's header, which all ranks gather before the exchange. */
struct topk_header {
	uint64_t selected;
	uint64_t calls;
	uint64_t room;           /* for pairs; UINT64_MAX = it wants none */
	uint64_t nan_at;         /* UINT64_MAX = none */
	uint64_t bad_at;         /* position of an index of the caller's beyond the tensor; UINT64_MAX = none */
	uint64_t unreduced;      /* room is for the pairs of all ranks, not added */
	uint64_t involved_short; /* its list of involved entries has no room for what it selected */
	uint64_t learnt;         /* a hash of the regions and the global threshold, which all ranks have alike */
};

struct topk_request {
	struct operand *operands; /* [n_operands] */
	size_t n_operands, n_tensors;
	size_t *pairs_p, *involved_p;
	size_t *rank_pairs_p; /* not NULL: pairs are wanted as they were sent */
	uint64_t pairs_room, involved_room;
	bool at; /* the caller has selected so many entries: */
	uint64_t at_count;
};

static inline struct operand *topk_grad(const struct topk_request *request, size_t i)
{
	return &request->operands[TOPK_TENSORS + i];
}

static inline struct operand *topk_dense(const struct topk_request *request, size_t i)
{
	return &request->operands[TOPK_TENSORS + request->n_tensors + i];
}

/* Entries of acc that were found while it was made: all with a key >= least, if they are complete. */
struct topk_candidates {
	struct topk_list list;
	uint64_t least, room;
	bool complete;
};

/* The value that a step leaves in turn->what when the next step is to run at once. */
#define TOPK_GO_ON ((enum script_what) - 1)

/* The work on acc and momentum where they are: on the host (near.c), or by kernels on a device whose memory the host
 * does not reach (far.c), with the same bits.  Each makes `then` the next step, once the work is done. */
struct topk_access {
	/* Make acc, momentum and nan_at; all but the first also run->candidates, complete if they fit `room`: */
	choir_status (*accumulate)(struct topk_run *run, topk_step then);
	/* all entries with a key >= least */
	choir_status (*accumulate_above)(struct topk_run *run, uint64_t least, uint64_t room, topk_step then);
	/* the entries among which a sample expects the k largest; they may be left out */
	choir_status (*accumulate_top)(struct topk_run *run, uint64_t k, topk_step then);
	/* the entries, zeros apart, with a key that is no less than about the k-th largest of a sample */
	choir_status (*accumulate_sampled)(struct topk_run *run, uint64_t k, uint64_t room, topk_step then);
	/* as above, of an acc that is made already */
	choir_status (*collect)(struct topk_run *run, uint64_t least, uint64_t room, topk_step then);

	/* find_top: the k <= n largest of elements [from, from + n), behind run->selected, which has room; run->limit.
	 * find_limit: run->selected = what the limit selects.  count: run->found = how many that are. */
	choir_status (*find_top)(struct topk_run *run, uint64_t from, uint64_t n, uint64_t k, topk_step then);
	choir_status (*find_limit)(struct topk_run *run, struct select_limit limit, topk_step then);
	choir_status (*count)(struct topk_run *run, struct select_limit limit, topk_step then);
	choir_status (*mean_std)(struct topk_run *run, topk_step then); /* run->mean_std */
	choir_status (*gather)(struct topk_run *run, topk_step then);   /* the values of run->selected's indices */
	choir_status (*whole)(struct topk_run *run, topk_step then);    /* run->whole = all of acc, on the host */

	/* clear: acc and momentum are zero at a list's indices.  add: adds a list to acc.  clear_all: both are zero.
	 * The list may go at once. */
	choir_status (*clear)(struct topk_run *run, const struct topk_list *list);
	choir_status (*add)(struct topk_run *run, const struct topk_list *list);
	choir_status (*clear_all)(struct topk_run *run);

	/* merge: out = the sum of n ascending lists, in their order; what they are made of stays until then.
	 * intersect: run->involved = those of run->selected that run->kept has. */
	choir_status (*merge)(struct topk_run *run, struct topk_list *out, const struct pairs *lists, uint32_t n,
	                      topk_step then);
	choir_status (*intersect)(struct topk_run *run, topk_step then);
};
extern const struct topk_access topk_access_near, topk_access_far;

/* The device's work for a call (far*.c). */
struct topk_far {
	bool busy;  /* commands were enqueued, and their end is not seen */
	bool waits; /* the next step asks the device whether it is done */
	bool watched;
	cl_event end;
	struct far_upload *uploads; /* memory that commands use */
	topk_step then;             /* after the end */
	struct select_job *select;
	struct mean_std_job *mean_std;
	topk_step selected;     /* after the job */
	struct topk_list *into; /* where the selected pairs go */
	cl_mem ind, val;        /* by way of these, which have room for so many pairs */
	uint64_t room, from;    /* from: the first element that was looked at */
	topk_step fetched;      /* once it is there */
	topk_step collected;    /* once the candidates are */
	cl_mem nan_at;
	cl_uint nan_found;
	struct far_merge *merge;
	struct scratch sum_ind, sum_val; /* a result that has only been made there: run->kept is but its count */
	cl_mem kept_ind;                 /* the result's indices, once they are there */
	struct pool_block found;
};

/* The pairs that go to their owners (split.c). */
struct topk_split {
	int met;           /* steps that are done */
	int added;         /* run->held is the sum of the lists of ranks [0, added) */
	int adding;        /* the worker's end */
	uint64_t in_bytes; /* that came to run->in */
	bool waits;        /* the next step asks whether the worker is done */
	pthread_mutex_t lock;
	pthread_cond_t idle;
	bool busy; /* under the lock: the worker adds */
	struct kept_error outcome;
};

/* Where a call's time goes. */
enum topk_part { TOPK_SELECTING, TOPK_MERGING, TOPK_UPDATING };

struct topk_run {
	struct script_env env;
	struct topk_state *state; /* a reference */
	struct topk_run *next;    /* of the state's calls, in order */
	struct topk_request request;
	const struct topk_algorithm *algorithm; /* of this call: "dense" in the warm-up */
	struct topk_types types;
	struct topk_tracking tracking;  /* becomes the state's */
	uint64_t k, sparse_call;        /* calls since the warm-up */
	topk_step step, agree, deliver; /* agree: what follows the selection; deliver: what follows the exchange */
	const struct topk_access *on;   /* near or far */
	struct cached_plan *plan;
	bool failure_is_local;

	/* SCRIPT_WORK: where a step ran, and what it left */
	bool worked;
	struct script_turn left;
	struct kept_error outcome;

	struct topk_tensor acc, velocity; /* the residual and momentum to be */
	struct topk_zeroed zeroed;        /* near: where they are zero */
	struct topk_candidates candidates;
	struct topk_list selected;
	struct select_limit limit; /* of the last find_top */
	uint64_t found, nan_at;    /* nan_at: the first NaN of acc, if that is looked for; else UINT64_MAX */
	struct mean_std mean_std;
	double threshold; /* that is tried */
	uint64_t passed;  /* a reused threshold, whether or not all were selected */
	uint64_t above;   /* oktopk: sums of all ranks above the global one, whether or not all were kept */
	int tries, chunk;
	bool rises, looked;
	const void *whole;
	struct pool_block whole_block;
	struct topk_list held;  /* what the algorithm has at the moment */
	struct topk_list total; /* of lists that are being added */
	struct topk_list *sums; /* [n] spardl: of each chunk */
	struct topk_list kept;  /* the result */
	/* Narrow values: what was lost of the rank's own entries, and of the sums that it sent, where these stay in
	 * the residual unless they are in the result. */
	struct topk_list lost, lost_sums;
	struct topk_list as_sent; /* the pairs of all ranks, if they are wanted */
	struct pool_block dense;  /* or, of "dense", a tensor: */
	void *sum;                /* there, or where the caller wants it */
	struct topk_list involved;
	/* of the result, and as they were sent, in the caller's dtype; in the block if that is not work */
	const void *values, *sent_values;
	struct pool_block mean, sent_mean;

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
	struct pool_block wide; /* values that came narrow (topk_widen) */
	struct pairs gather_mine;
	topk_step then, after_split; /* after an exchange of several plans */
	struct pairs *parts;         /* [n] that go */
	int distance;                /* gtopk, spardl: of the round */
	struct topk_far far;
	struct topk_split split;
	choir_topk_stats stats;
	enum topk_part part;
	bool exchanges;  /* the time since the last step is the exchange's */
	int64_t last_ns; /* the end of the last step; 0 before the gradient is there */
};

/* turn.c.  Values travel as run->types.wire, rounded before (topk_round_sums); lists that come are as accumulated, but
 * for those of topk_fixed_read. */

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

/* topk_alltoallv: run->block_bytes from each rank to each, packed, from run->out to recv. */
choir_status topk_alltoallv(struct topk_run *run, struct script_turn *turn, uint64_t send_bytes, void *recv,
                            uint64_t recv_bytes, topk_step then);

/* topk_exchange: run->matrix pairs from each rank to each; to[d] is what goes from here to d.  Arrives in
 * run->lists. */
choir_status topk_exchange(struct topk_run *run, struct script_turn *turn, const struct pairs *to, topk_step then);

/* topk_send_fixed: run->matrix blocks of block_bytes each, written by the caller in run->out one after another by
 * destination, to run->in likewise by source. */
choir_status topk_send_fixed(struct topk_run *run, struct script_turn *turn, uint64_t block_bytes, topk_step then);

/* topk_widen: values of lists that came, as they are accumulated, in run->wide until the next one. */
choir_status topk_widen(struct topk_run *run, struct pairs *lists, int n);

/* topk_round_sums: before sums are sent: they become what arrives of them, and this rank's residual gets the rest.
 * topk_round_part: those at positions [from, end). */
choir_status topk_round_sums(struct topk_run *run, struct topk_list *list);
choir_status topk_round_part(struct topk_run *run, struct topk_list *list, uint64_t from, uint64_t end);

/* A list in a block of fixed size with room for so many pairs, whatever it has. */
uint64_t topk_fixed_bytes(const struct topk_run *run, uint64_t room);
void topk_fixed_write(const struct topk_run *run, const struct pairs *list, uint64_t room, void *to);
struct pairs topk_fixed_read(const struct topk_run *run, uint64_t room, const void *from);

/* topk_hold_sum: moves run->total, a sum of lists, to run->held. */
void topk_hold_sum(struct topk_run *run);

/* topk_join: the lists that came, one behind the other: they follow each other in the index range. */
choir_status topk_join(struct topk_run *run, struct topk_list *out);

/* split.c.  start: run->parts, of run->matrix pairs, to their owners; run->after_split follows, and run->held is the
 * sum of what came.  fini: waits for the worker.  add: what the worker does, with a run. */
choir_status topk_split_start(struct topk_run *run);
void topk_split_add(void *run);
void topk_split_init(struct topk_run *run);
void topk_split_fini(struct topk_run *run);

/* accumulate.c: near. */
choir_status near_accumulate(struct topk_run *run, topk_step then);
choir_status near_accumulate_above(struct topk_run *run, uint64_t least, uint64_t room, topk_step then);
choir_status near_accumulate_top(struct topk_run *run, uint64_t k, topk_step then);
choir_status near_accumulate_sampled(struct topk_run *run, uint64_t k, uint64_t room, topk_step then);

/* topk_sample_*: the call's sample of acc: how many elements it has, the index of the i-th of `count`, and the key of
 * what is about the k-th largest of acc, from the sample's values; no zero's, and none above infinity's. */
uint64_t topk_sample_count(const struct topk_run *run);
uint64_t topk_sample_index(const struct topk_run *run, uint64_t count, uint64_t i);
choir_status topk_sample_key(const struct topk_run *run, const void *values, uint64_t k, uint64_t *key_p);

/* headers.c.  make: from what was selected.  check: every rank sees the same headers, so all fail alike, no rank waits
 * for another one, and the comm goes on. */
void topk_header_make(struct topk_run *run);
choir_status topk_headers_check(const struct topk_run *run);

/* result.c.  check_room: the rooms of all ranks are in the headers, and all have the same result. */
choir_status topk_result_check_room(struct topk_run *run);
choir_status topk_result_write(struct topk_run *run);

/* far_queue.c.  wait: `then` follows once the device has done all that was enqueued.
 * buffer: of the call, until fini.  upload: one with a copy of host memory.  fini: waits for the device. */
choir_status far_wait(struct topk_run *run, topk_step then);
choir_status far_buffer(struct topk_run *run, uint64_t bytes, cl_mem *mem_p);
choir_status far_upload(struct topk_run *run, const void *from, uint64_t bytes, cl_mem *mem_p);
void far_fini(struct topk_run *run);

/* far_select.c */
choir_status far_find_top(struct topk_run *run, uint64_t from, uint64_t n, uint64_t k, topk_step then);
choir_status far_find_limit(struct topk_run *run, struct select_limit limit, topk_step then);
choir_status far_count(struct topk_run *run, struct select_limit limit, topk_step then);
choir_status far_collect(struct topk_run *run, uint64_t least, uint64_t room, topk_step then);
choir_status far_mean_std(struct topk_run *run, topk_step then);

/* far_merge.c, far_intersect.c: by kernels where that takes less time than by the host. */
choir_status far_merge(struct topk_run *run, struct topk_list *out, const struct pairs *lists, uint32_t n,
                       topk_step then);
bool far_merge_pays(const struct topk_run *run, const struct topk_list *out, uint64_t pairs, uint32_t n);
void far_merge_fini(struct topk_run *run);
choir_status far_intersect(struct topk_run *run, topk_step then);

/* far_kernels_pay: do the host's loops over so many pairs, ns each, take longer than commands and bytes over the bus?
 * CHOIR_REDUCE=kernel says so of any. */
bool far_kernels_pay(const struct topk_run *run, uint64_t pairs, double ns, uint64_t commands, uint64_t bytes);

/* far_result.c: the parts of the result that kernels write from its pairs: the dense tensor, and `involved` as bits.
 * wanted: after operands_reach. */
bool far_result_wanted(const struct topk_run *run);
choir_status far_result_write(struct topk_run *run);

/* life.c.  commit: the state takes its new contents from the run. */
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
