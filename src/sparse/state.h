/* SPDX-License-Identifier: MIT */
/* The state of one sparse allreduce on one rank, and the steps its files hand to each other:
 * input.c -> local.c -> (headers) -> one of sparse_methods (allgather.c, split.c, split_shared.c, recursive.c, mask.c,
 * densify.c) -> deliver.c. */
#ifndef SPARSE_STATE_H
#define SPARSE_STATE_H

#include "sparse/algorithm.h"
#include "sparse/block.h"
#include "sparse/coalesce.h"
#include "sparse/result.h"
#include "sparse/share.h"
#include "sparse/sparse.h"
#include "sparse/transfer.h"

/* What a step leaves in turn->what when the next step shall run at once. */
#define SPARSE_GO_ON ((enum script_what) - 1)

/* A block of mine that the other ranks read. */
struct sparse_lent {
	struct share_block *block;
	bool used; /* the others were told: all of them open it */
};

/* Whether the blocks that others read are staged (staged_write.c). */
struct staged_write {
	bool yes, matters; /* some rank's block could have been made the other way */
	bool rows;         /* not scalars */
	int entry;         /* of env.nt, -1 = of none */
	uint64_t bytes;    /* what a rank brings on average */
	int64_t since_ns;
};

/* What ranks tell each other of a list they have made, of which in shared memory (rows_off, at). */
struct sparse_note {
	uint64_t count, rows_off; /* pairs, and where their rows begin */
	uint64_t work;            /* pairs they were made of */
	struct share_address at;
};

/* How a call of the script's ended: another thread may go on from there. */
struct script_outcome {
	choir_status status;
	char text[ERROR_TEXT_BYTES];
};

struct sparse {
	struct script_env env;
	struct sparse_call call;
	choir_op op_given; /* call.op, but premul_sum: the rank scales its own rows, and the rest is a sum */
	int forced; /* row of sparse_methods, -1 */
	uint64_t tensor;          /* a hash of the call's name */
	struct history_call like; /* what this call is in env.history */
	size_t ind_capacity, val_capacity;
	uint32_t ind_bytes;             /* of a caller's index */
	/* Rows are coalesced in one dtype, travel and are merged in another, and are delivered in the caller's
	 * (sparse_dtypes). */
	choir_dtype local_dtype, wire_dtype;
	uint64_t elem_bytes, row_bytes; /* of wire_dtype; row_bytes: mine, then the agreed one */
	bool kernels;                   /* coalesce on the device */
	bool shares;                    /* all ranks are on this node and read each other's memory */
	bool in_place;                  /* all read all ranks' pairs, raw ones too, where their ranks wrote them */
	struct staged_write staged;
	bool failure_is_local;                 /* no exchange is left: a failure is this rank's alone */
	sparse_step step;
	struct cached_plan *plan;

	/* my input */
	struct dev_access ind_access, val_access;
	struct transfer ind_in, val_in;
	struct pool_block ind_copy, val_copy; /* where the host cannot reach the caller's memory */
	struct range_job *range_job;
	const void *ind;
	const unsigned char *val; /* host view, NULL where kernels read the cl_mem */
	struct pool_block val_wide; /* in local_dtype, if that is another; or scaled */
	cl_mem scaled;              /* val of premul_sum, where kernels read it; NULL */

	/* my coalesced pairs, laid out as a block (block.h) */
	struct coalesce_source source;
	struct coalesce job;
	struct pool_block own;          /* where they are if not */
	struct sparse_lent own_lent;    /* where they are if the ranks share memory */
	unsigned char *own_ptr;         /* NULL: they are the caller's, raw */
	struct index_form own_form;
	uint64_t own_count;

	/* what is gathered */
	struct sparse_header header, *headers; /* [n] */
	struct sparse_facts facts;
	const struct sparse_method *method;
	int method_row; /* of sparse_methods */
	struct choir_sparse_stats stats;
	sparse_step fill;               /* the method's */

	/* exchange */
	/* blocks to send, received, and split's reduced region where messages travel */
	struct pool_block out, in, region;
	struct coalesce_source *lists;     /* [n] */
	/* [n] of the method, by sparse_table: NULL where all ranks read each other's memory. */
	uint64_t *counts;                  /* pairs: split: for my region, then in each region; else of each rank */
	uint64_t *block_bytes;             /* of an allgatherv; of an alltoallv from each rank ... */
	uint64_t *to_bytes;                /* ... and to each */
	uint64_t *bounds;                  /* [n + 1] of the regions that ranks own (region_cut) */
	uint64_t merged;                   /* mask: indices in the union */
	int bit;                           /* recursive doubling: the round */
	struct sparse_lent lent, region_lent; /* shared: my grouped pairs (out), my reduced region (region) */
	struct share_view **views, **region_views; /* [n] of the others' blocks */
	struct sparse_note note, *notes;   /* [n] */
	struct bucket_list *buckets;       /* [n] */

	/* delivery */
	uint64_t count; /* pairs of the result */
	bool to_note;   /* it is known since the last turn: choice_memory_note is due */
	choir_buffer to_ind, to_val;
	struct dev_access to_ind_access, to_val_access;
	/* where fill writes: the caller's memory or the result's; rows of another dtype go to ... */
	void *target_ind, *target_val;
	struct pool_block target_wire; /* ... this first ... */
	void *final_val;               /* ... and from it to where the caller's dtype is wanted */
	struct sparse_result *result;
	struct transfer ind_out, val_out;

	/* what was done without the right to drive: a callback, or a step that was long work */
	struct script_outcome outcome;
	bool works, worked;      /* a step is done so; one was, and left ... */
	struct script_turn left; /* ... this */
};

/* The steps, in order. */
choir_status input_start(struct sparse *sparse, struct script_turn *turn);   /* input.c */
choir_status local_start(struct sparse *sparse, struct script_turn *turn);   /* local.c */
choir_status header_start(struct sparse *sparse, struct script_turn *turn);  /* local.c */
choir_status deliver_flush(struct sparse *sparse, struct script_turn *turn); /* deliver.c */
/* deliver_start: the count of the result is known and the last exchange is over. */
void deliver_start(struct sparse *sparse, uint64_t count);

/* choice_memory.c.  choice_memory_fill: the header's part of what the comm remembers.  choice_memory_note: facts,
 * method and count are to be remembered. */
uint64_t choice_memory_tensor(const char *name);
void choice_memory_fill(struct sparse *sparse);
void choice_memory_note(struct sparse *sparse);

/* staged_write.c.  staged_write_begin: decides for this call, if this rank brings anything.  staged_write_agree: else
 * now; the facts are known.  staged_write_take: share_take that way.  staged_write_end: the call ended well. */
void staged_write_begin(struct sparse *sparse);
void staged_write_agree(struct sparse *sparse);
choir_status staged_write_take(struct sparse *sparse, uint64_t bytes, struct share_block **out_p);
void staged_write_end(struct sparse *sparse);

/* sparse_open: views of the other ranks' blocks, at(sparse, r) says where; mine is NULL.  sparse_close: all of them
 * that are open. */
choir_status sparse_open(struct sparse *sparse, struct share_view **views,
                         const struct share_address *(*at)(const struct sparse *, int));
void sparse_close(struct sparse *sparse, struct share_view **views);

/* What I bring: coalesced, or raw as the caller gave it. */
struct pairs sparse_own_pairs(const struct sparse *sparse);

/* What ranks bring and share: where it is, and after sparse_open(views) as pairs. */
const struct share_address *sparse_pairs_at(const struct sparse *sparse, int r);
struct pairs sparse_shared_pairs(const struct sparse *sparse, int r);

/* sparse_fold: count elements of all ranks, found at blocks + r * block_bytes + off, to finished ones.  NO_MEMORY. */
choir_status sparse_fold(const struct sparse *sparse, const void *blocks, uint64_t block_bytes, uint64_t off,
                         uint64_t count, void *to);

/* sparse_merge: begins the job that merges the first n_lists of sparse->lists, all in range; final: the rows are those
 * of the result.  On the device if it is given and kernels coalesce.  NO_MEMORY, OPENCL. */
choir_status sparse_merge(struct sparse *sparse, uint32_t n_lists, struct index_range range, bool final,
                          choir_device *device);

/* sparse_set_imbalance: by the work in all notes. */
void sparse_set_imbalance(struct sparse *sparse);

/* sparse_table: a zero for every rank, in place of the table there was.  NO_MEMORY. */
choir_status sparse_table(struct sparse *sparse, uint64_t **table);

/* Note [long work].  Steps run on the thread that drives the comm, whose other calls stand still meanwhile.  A step
 * that goes over more than SCRIPT_PIECE_BYTES of host memory therefore begins with script_defers: the step returns at
 * once and is called again as a turn of its own, SCRIPT_WORK, without the right to drive, and so are the steps behind
 * it.  A step that uses what is the driver's, env.nt or env.history, comes after a plan, or begins with
 * script_needs_driver. */
#define SCRIPT_PIECE_BYTES (UINT64_C(256) << 10)

/* script_defers: true: the step returns SUCCESS now, and runs again as work of that many bytes. */
bool script_defers(struct sparse *sparse, struct script_turn *turn, uint64_t bytes);

/* script_needs_driver: true: the step returns SUCCESS now, and the driver runs it again. */
bool script_needs_driver(struct sparse *sparse, struct script_turn *turn);

/* script_defers_job: the same for a step that merges so many pairs by the job, on the host. */
bool script_defers_job(struct sparse *sparse, struct script_turn *turn, uint64_t pairs);

/* script_pair_bytes: of so many pairs, with rows of wire_dtype. */
uint64_t script_pair_bytes(const struct sparse *sparse, uint64_t pairs);

/* script_keep_outcome: of the call that this thread has just made, with its sentence. */
void script_keep_outcome(struct sparse *sparse, choir_status status);

/* script_wait_job: the turn that waits for the kernels of the job.  script_transfer: moves both; then `then` runs. */
choir_status script_wait_job(struct sparse *sparse, struct script_turn *turn);
choir_status script_transfer(struct sparse *sparse, struct script_turn *turn, struct transfer *ind,
                             struct transfer *val, sparse_step then);

/* script_wait: the turn that waits for the device: AGAIN, watched by the job. */
void script_wait(struct script_turn *turn);

/* script_gather_notes: a turn that gathers the notes of all ranks. */
choir_status script_gather_notes(struct sparse *sparse, struct script_turn *turn, sparse_step then);

/* script_plan: a turn that runs the default plan of a collective; afterwards `then` runs.  in needs collective, bytes
 * or block_bytes, elem_bytes. */
choir_status script_plan(struct sparse *sparse, struct script_turn *turn, struct algo_in *in, const void *send,
                         uint64_t send_bytes, void *recv, uint64_t recv_bytes, sparse_step then);

#endif
