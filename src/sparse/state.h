/* SPDX-License-Identifier: MIT */
/* The state of one sparse_allreduce on one rank, and the functions that its files share.  A call goes through
 * 1. input.c: the host reaches the rank's pairs; local.c: it coalesces them;
 * 2. local.c: the ranks gather their headers, and all choose the same method;
 * 3. a row of sparse_methods: allgather.c, split.c, split_shared.c, recursive.c, mask.c, densify.c;
 * 4. deliver.c: the result goes to the caller.
 * script.c runs these steps; turn.c and staged_write.c help all of them. */
#ifndef SPARSE_STATE_H
#define SPARSE_STATE_H

#include "sparse/algorithm.h"
#include "sparse/block.h"
#include "sparse/coalesce.h"
#include "sparse/lent.h"
#include "sparse/result.h"
#include "sparse/scratch.h"
#include "sparse/share.h"
#include "sparse/sparse.h"
#include "sparse/transfer.h"

/* A step that leaves this in turn->what is over, and sparse->step follows at once. */
#define SPARSE_GO_ON ((enum script_what) - 1)

/* A block of this rank's that the other ranks read. */
struct sparse_shared {
	struct share_block *block;
	bool used; /* the others know its address: all of them open it */
};

/* Whether this rank writes the blocks that others read staged or in place (staged_write.c). */
struct staged_write {
	bool yes;
	bool matters;   /* the block of some rank could have been written the other way */
	bool rows;      /* the values are not scalars */
	int entry;      /* of env.nt, -1 = none */
	uint64_t bytes; /* mean of the ranks' lists */
	int64_t since_ns;
};

/* A rank tells the others about a list that it has made. */
struct sparse_note {
	uint64_t count;          /* pairs of the list */
	uint64_t work;           /* pairs that it was made of */
	uint64_t rows_off;       /* in shared memory: where its rows begin ... */
	struct share_address at; /* ... behind this address */
};

struct sparse {
	/* the call; constant */
	struct script_env env;
	struct sparse_call call; /* op: of premul_sum sum, since each rank scales its own rows */
	choir_op op_given;       /* by the caller */
	struct user_op *user;    /* if it is one of the caller's: a reference; else NULL */
	int forced;              /* row of sparse_methods, -1 = none */
	uint64_t tensor;         /* hash of the call's name */
	uint32_t ind_bytes;      /* of an index of the caller's */
	/* Rows are coalesced in local_dtype, travel and are merged in wire_dtype, and are delivered in the caller's. */
	choir_dtype local_dtype, wire_dtype;
	uint64_t elem_bytes;  /* of wire_dtype */
	bool kernels;         /* the device coalesces, and merges */
	bool long_by_kernels; /* what is long: Note [short lists] in stay.c */
	bool shares;          /* all ranks are on this node and read each other's memory */
	bool stays;           /* the rank's list stays on the device: Note [lists that stay] in stay.c */

	/* the script */
	sparse_step step;      /* the next one */
	bool failure_is_local; /* no exchange is left: a failure is this rank's alone */
	struct cached_plan *plan;
	bool in_work;   /* long work is under way: Note [long work] */
	bool work_over; /* it is over and has left: */
	struct script_turn left;
	struct kept_error outcome; /* of it, or of a callback */

	/* input */
	struct dev_access ind_access, val_access;
	struct transfer ind_in, val_in;
	struct pool_block ind_copy, val_copy; /* where the host does not reach the caller's memory */
	struct range_job *range_job;
	const void *ind; /* the pairs as the host sees them; NULL where kernels read the cl_mem */
	const unsigned char *val;
	struct pool_block val_wide; /* rows in local_dtype, if that is not the caller's, or scaled */
	struct scratch scaled;      /* rows of premul_sum that kernels read */

	/* the rank's list: coalesced pairs, or raw ones for others to read, as a block (block.h) */
	struct coalesce_source source;
	struct coalesce job;
	struct pool_block own;           /* the memory of the block ... */
	struct sparse_shared own_shared; /* ... where the ranks share memory */
	unsigned char *own_ptr;          /* the block; NULL = the pairs are raw, where the caller has them */
	struct index_form own_form;
	uint64_t own_count;
	struct scratch own_ind, own_rows; /* the list on the device too, in own_form, if kernels made it */
	struct lent_list *lent;           /* these two, while the other ranks may read them */
	bool lent_is_known;               /* all ranks have its number or will */
	struct staged_write staged;

	/* agreement */
	struct sparse_header header, *headers; /* mine, [n] */
	struct sparse_facts facts;
	uint64_t row_bytes; /* of wire_dtype: of this rank's rows, then of all */
	bool in_place;      /* all ranks read the lists of all where these were written */
	const struct sparse_method *method;
	int method_row;                 /* in sparse_methods */
	sparse_step fill;               /* of the method */
	struct choice_memory_call like; /* this call in env.choice_memory */
	struct choir_sparse_stats stats;

	/* exchange: which of these a method uses, it says */
	struct pool_block out, in;     /* blocks to send, and received */
	struct pool_block region;      /* the reduced region that this rank owns */
	struct pool_block senders;     /* mask, of a caller's operator: who sent the rows of my part */
	struct coalesce_source *lists; /* [n] to be merged */
	uint64_t *bounds;              /* [n + 1] of the regions that ranks own (region_cut) */
	uint64_t *counts;              /* [n] pairs of each rank, or in each region */
	uint64_t *block_bytes;         /* [n] of each rank's block in an allgatherv, or received from each */
	uint64_t *to_bytes;            /* [n] sent to each */
	uint64_t merged;               /* mask: indices in the union */
	int bit;                       /* recursive doubling: the round */
	/* split where ranks share memory: the pairs of this rank by buckets, and its reduced region */
	struct sparse_shared list_shared, region_shared;
	struct share_view **views, **region_views; /* [n] of the others' blocks */
	struct lent_list **borrowed;               /* [n] the others' lists on the device */
	struct sparse_note note, *notes;           /* mine, [n] */
	struct bucket_list *buckets;               /* [n] */

	/* delivery */
	uint64_t count; /* pairs of the result */
	bool to_note;   /* last_choice_note is due */
	choir_buffer to_ind, to_val;
	struct dev_access to_ind_access, to_val_access;
	bool target_on_device;         /* fill copies what kernels have merged to the caller's cl_mems; else: */
	void *target_ind, *target_val; /* where fill writes: to the caller, to `result` or to target_wire */
	struct pool_block target_wire; /* rows of wire_dtype, if that is not the caller's ... */
	void *final_val;               /* ... which are converted to here */
	struct sparse_result *result;
	bool result_waits; /* the caller's buffers are too small: sparse_take_result has it */
	struct transfer ind_out, val_out;
};

/* sparse_form: of the indices that travel: the shortest for the range of all ranks. */
static inline struct index_form sparse_form(const struct sparse *sparse)
{
	return index_form_of(sparse->facts.range);
}

/* The steps, in order. */
choir_status input_start(struct sparse *sparse, struct script_turn *turn);  /* input.c */
choir_status local_start(struct sparse *sparse, struct script_turn *turn);  /* local.c */
choir_status header_start(struct sparse *sparse, struct script_turn *turn); /* local.c */
/* sparse_choose: method and regions of the call, by gathered numbers alone: all ranks choose, or fail, alike. */
choir_status sparse_choose(struct sparse *sparse); /* choose.c */

/* scale.c.  sparse_widen: converts the rows to local_dtype.  sparse_scale: of premul_sum, multiplies them by the rank's
 * factor and rounds them to local_dtype, on the device where kernels coalesce.  NO_MEMORY, OPENCL. */
choir_status sparse_widen(struct sparse *sparse);
choir_status sparse_scale(struct sparse *sparse);

/* sparse_is_long: do so many pairs pay for kernels?  Note [short lists] in stay.c. */
bool sparse_is_long(const struct sparse *sparse, uint64_t pairs, uint64_t row_bytes);
choir_status deliver_flush(struct sparse *sparse, struct script_turn *turn); /* deliver.c */
/* deliver_start: the last step of a method: the result has so many pairs, and no exchange is left. */
void deliver_start(struct sparse *sparse, uint64_t count);

/* last_choice.c.  last_choice_tensor: the hash of a call's name.  last_choice_fill: the header gets what the comm
 * remembers of such a call.  last_choice_note: the comm remembers method and count.  The driver only. */
uint64_t last_choice_tensor(const char *name);
void last_choice_fill(struct sparse *sparse);
void last_choice_note(struct sparse *sparse);

/* staged_write.c.  staged_write_begin: chooses the way for this call, if the rank has pairs.  staged_write_agree: a
 * rank without pairs chooses once the facts are known.  staged_write_take: share_take in the chosen way.
 * staged_write_end: the call ended well, and is timed.  All but staged_write_take: the driver only. */
void staged_write_begin(struct sparse *sparse);
void staged_write_agree(struct sparse *sparse);
choir_status staged_write_take(struct sparse *sparse, uint64_t bytes, struct share_block **out_p);
void staged_write_end(struct sparse *sparse);

/* sparse_open: opens the block of each other rank, at(sparse, r); views[me] stays NULL.  After a failure too all that
 * can be are open, so that their readers are counted out.  sparse_close: closes all that are open. */
choir_status sparse_open(struct sparse *sparse, struct share_view **views,
                         const struct share_address *(*at)(const struct sparse *, int));
void sparse_close(struct sparse *sparse, struct share_view **views);

/* stay.c: Note [lists that stay].  sparse_list_stays: does this rank's list stay on the device?  sparse_lend: lends
 * it to all.  NO_MEMORY.  sparse_list_number: for the header.  sparse_say_room: writes the room on the rank's device to
 * the header.  sparse_take_back: no rank will read it.  sparse_borrow: sets sparse->lists to the lists of all.
 * TRANSPORT.  sparse_return: no command of this rank's uses any of them. */
bool sparse_list_stays(const struct sparse *sparse, bool however_short);
choir_status sparse_lend(struct sparse *sparse);
uint64_t sparse_list_number(const struct sparse *sparse);
void sparse_say_room(struct sparse *sparse);
void sparse_take_back(struct sparse *sparse);
choir_status sparse_borrow(struct sparse *sparse);
void sparse_return(struct sparse *sparse);

/* sparse_own_pairs: this rank's list: its block, or the caller's raw pairs. */
struct pairs sparse_own_pairs(const struct sparse *sparse);

/* sparse_pairs_at: the address of rank r's list.  sparse_shared_pairs: the list, after sparse_open(views). */
const struct share_address *sparse_pairs_at(const struct sparse *sparse, int r);
struct pairs sparse_shared_pairs(const struct sparse *sparse, int r);

/* Which rows each rank sent: bit i of words + r * stride is 1 if rank r sent row i. */
struct sparse_senders {
	const uint64_t *words;
	uint64_t stride; /* in words */
};

/* sparse_fold: reduces rows of all ranks in rank order; those of rank r are at blocks + r * block_bytes + off.  Only
 * where sparse->user are the senders looked at.  NO_MEMORY. */
choir_status sparse_fold(const struct sparse *sparse, const void *blocks, uint64_t block_bytes, uint64_t off,
                         uint64_t rows, const struct sparse_senders *senders, void *to);

/* sparse_merge_host: begins the job that merges the first n_lists of sparse->lists, which lie in range; final: its rows
 * are those of the result.  sparse_merge_region: all lists, of a region, by kernels too.  sparse_merge_all: all lists,
 * to the result, by kernels too, which leave it on the device.  sparse_merge_on_device: the same, by kernels always.
 * NO_MEMORY, OPENCL. */
choir_status sparse_merge_host(struct sparse *sparse, uint32_t n_lists, struct index_range range, bool final);
choir_status sparse_merge_region(struct sparse *sparse, struct index_range range);
choir_status sparse_merge_all(struct sparse *sparse);
choir_status sparse_merge_on_device(struct sparse *sparse);

/* sparse_set_imbalance: stats.imbalance from the work in all notes. */
void sparse_set_imbalance(struct sparse *sparse);

/* sparse_table: a new table with a zero for each rank; frees the old one.  NO_MEMORY. */
choir_status sparse_table(struct sparse *sparse, uint64_t **table);

/* Note [long work].  The thread that drives the comm runs the steps, and the comm's other calls stand still meanwhile.
 * A step that goes over more than SCRIPT_PIECE_BYTES of host memory therefore begins with script_defers: it returns at
 * once and runs again as a turn of its own, SCRIPT_WORK, without the right to drive.  So do the steps that follow it.
 * A step that uses env.nt or env.choice_memory, which belong to the driver, follows a plan or begins with
 * script_needs_driver. */
#define SCRIPT_PIECE_BYTES (UINT64_C(256) << 10)

/* script_defers: true: the step returns SUCCESS now, and runs again as work of that many bytes. */
bool script_defers(struct sparse *sparse, struct script_turn *turn, uint64_t bytes);

/* script_needs_driver: true: the step returns SUCCESS now, and the driver runs it again. */
bool script_needs_driver(struct sparse *sparse, struct script_turn *turn);

/* script_defers_job: the same for a step of sparse->job on that many pairs; never if kernels do the job. */
bool script_defers_job(struct sparse *sparse, struct script_turn *turn, uint64_t pairs);

/* script_pair_bytes: the bytes of so many pairs with rows of wire_dtype. */
uint64_t script_pair_bytes(const struct sparse *sparse, uint64_t pairs);

/* script_count_job: the step that counts the pairs of the job's result; *counted_p false: it runs again.
 * script_wait_job: a turn that waits for the kernels of the job.  script_transfer: copies indices and values; `then`
 * follows. */
choir_status script_count_job(struct sparse *sparse, struct script_turn *turn, bool *counted_p);
choir_status script_wait_job(struct sparse *sparse, struct script_turn *turn);
choir_status script_transfer(struct sparse *sparse, struct script_turn *turn, struct transfer *ind,
                             struct transfer *val, sparse_step then);

/* script_wait: a turn that waits for the device: the driver runs the step again. */
void script_wait(struct script_turn *turn);

/* script_gather_notes: a turn that gathers the notes of all ranks. */
choir_status script_gather_notes(struct sparse *sparse, struct script_turn *turn, sparse_step then);

/* script_plan: a turn that carries out a collective by the built-in rules; `then` follows.  The caller fills
 * collective, elem_bytes, and bytes or the lists of *in. */
choir_status script_plan(struct sparse *sparse, struct script_turn *turn, struct algo_in *in, const void *send,
                         uint64_t send_bytes, void *recv, uint64_t recv_bytes, sparse_step then);

#endif
