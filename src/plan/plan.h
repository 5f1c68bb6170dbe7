/* SPDX-License-Identifier: MIT */
/* A plan: one rank's share of a collective as a DAG of steps.  It is pure data without pointers to the caller's memory,
 * so it can be cached, printed, checked, and run for all buffers of the same shape.  Deps point to earlier steps only,
 * so the order of the list is a legal order of execution. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <choir/types.h>
#include <stdbool.h>
#include <stdio.h>

/* The memory that a reference points into.  All offsets and lengths in plans are in bytes. */
enum plan_buf {
	PLAN_SEND,    /* the caller's send buffer */
	PLAN_RECV,    /* the caller's receive buffer */
	PLAN_SCRATCH, /* plan->scratch_bytes of host memory, private to the run */
	PLAN_SLOT,    /* the slot of rank ref.peer (same node) in the collective's lane, plan->slot_bytes */
	/* The buffers of rank ref.peer (same node).  Such a plan begins once the buffers of all ranks of the node are
	 * ready, and accesses a peer's before it publishes the last phase that this peer awaits. */
	PLAN_PEER_SEND,
	PLAN_PEER_RECV,
};

struct plan_ref {
	enum plan_buf buf;
	int32_t peer; /* SLOT, PEER_SEND, PEER_RECV: comm rank */
	uint64_t off;
};

enum plan_kind {
	PLAN_COPY, /* dst = src[0], len bytes */
	/* dst = src[0] op src[1] op ..., folded from left to right; dst may be exactly one of the sources */
	PLAN_REDUCE,
	PLAN_SEND_MSG, /* sends src[0], len bytes, to rank peer with tag */
	PLAN_RECV_MSG, /* receives len bytes with tag from rank peer into dst */
	PLAN_PUBLISH,  /* raises this rank's flag to `phase`: the node sees all that its deps have written */
	PLAN_AWAIT,    /* waits until rank peer (PLAN_ALL: every rank of the node) has published `phase` */
};

#define PLAN_ALL (-1)

/* The sources of a REDUCE that are original values of callers, not partial results: square_add squares only those. */
enum plan_raw { PLAN_RAW_NONE, PLAN_RAW_REST /* all but src[0] */, PLAN_RAW_ALL };

/* The order in which the elements of all ranks are folded; a later one keeps the promise of those before it. */
enum plan_order {
	PLAN_ORDER_ANY,   /* one that depends on the algorithm, the layout and the element */
	PLAN_ORDER_RANKS, /* from left to right in rank order; partial results may be rounded to the data type */
	PLAN_ORDER_ONCE,  /* the same by one REDUCE, so the result is rounded once */
};

struct plan_step {
	enum plan_kind kind;
	enum plan_raw raw; /* REDUCE */
	bool final;        /* REDUCE: the last one of its elements; mean divides here */
	/* SEND_MSG, RECV_MSG, AWAIT; REDUCE: the rank whose factor premul_sum takes, PLAN_ALL = this one's */
	int32_t peer;
	union {
		uint32_t tag;   /* SEND_MSG, RECV_MSG: unique for each (sender, receiver), up to PLAN_LAST_TAG */
		uint32_t phase; /* PUBLISH, AWAIT: 1 to PLAN_LAST_PHASE */
	};
	struct plan_ref dst;
	/* further destinations of a REDUCE, which get the same result; in plan->refs */
	uint32_t more_first, n_more;
	uint32_t src_first, n_src;  /* in plan->refs */
	uint32_t dep_first, n_deps; /* in plan->deps */
	uint64_t len;
	const char *label; /* constant text */
};

struct plan {
	const char *algorithm; /* constant text */
	struct plan_step *steps;
	struct plan_ref *refs;
	uint32_t *deps;
	uint32_t n_steps, n_refs, n_deps;
	uint64_t scratch_bytes;
	uint64_t slot_bytes; /* of every slot, as given to the builder; device: what this rank's slot needs */
	/* bytes at the beginning of a slot that any rank uses, the same on all ranks of a node; a builder that uses
	 * slots sets it, and what a call in flight keeps of the ring is that much */
	uint64_t slot_used;
	uint64_t elem_bytes;
	bool messages;                /* a step sends or receives */
	bool awaits;                  /* a step waits for a phase */
	bool peers;                   /* a step accesses a peer's buffer */
	bool writes_slot;             /* a step writes to a slot, this rank's if not shares_slots */
	bool tells_peers;             /* a step writes to that, to a peer's RECV, or to several places */
	bool reads_send, writes_recv; /* of steps that have a length */
	/* set by the builder, on all ranks of the node: steps write to slots of other ranks too, once these have
	 * published a phase; every rank's plan writes to a slot */
	bool shares_slots;
	bool alike; /* with peers: either all ranks are in place or none */
	/* with peers: every buffer is a cl_mem of one context, SCRATCH and SLOT too: Note [device plans] in
	 * algo/device.h */
	bool device;
	/* set by the builder: the results do not fit the cache, so nt stores write them to the callers' buffers */
	bool nt;
	uint32_t last_phase; /* the highest phase this rank publishes */
	uint32_t scaled;     /* the step of plan_scale; PLAN_NO_STEP = none */
	uint64_t scaled_off; /* its result in scratch */
	/* set by plan_finish: the steps that depend on step i are succs[succ_first[i]] .. succs[succ_first[i + 1] -
	 * 1] */
	uint32_t *succ_first, *succs;
	/* while building: capacities, the numbers of pending items for the next step, and the first failure, which
	 * plan_finish returns */
	uint32_t cap_steps, cap_refs, cap_deps;
	uint32_t pending_deps, pending_refs, pending_more;
	uint32_t last_publish;
	choir_status building;
};

/* The largest phase that fits a lane's flag (node/arena.h), and the largest tag of a message (base/ring.h). */
#define PLAN_LAST_PHASE ((1u << 20) - 2)
#define PLAN_LAST_TAG   ((1u << 24) - 1)

/* The number of a step, to be given as a dep.  PLAN_NO_STEP as a dep is ignored, so builders need no branches. */
typedef uint32_t plan_id;
#define PLAN_NO_STEP UINT32_MAX

/* plan_init: an empty plan in the caller's storage.  plan_fini: frees its arrays; legal on a zeroed plan. */
void plan_init(struct plan *plan, const char *algorithm, uint64_t elem_bytes);
void plan_fini(struct plan *plan);

static inline struct plan_ref plan_at(enum plan_buf buf, uint64_t off)
{
	return (struct plan_ref){ .buf = buf, .off = off };
}

static inline struct plan_ref plan_peer(enum plan_buf buf, int rank, uint64_t off)
{
	return (struct plan_ref){ .buf = buf, .peer = rank, .off = off };
}

static inline struct plan_ref plan_slot(int rank, uint64_t off)
{
	return (struct plan_ref){ .buf = PLAN_SLOT, .peer = rank, .off = off };
}

/* The functions below append a step and return its number.  A failure is kept, and plan_finish returns the first:
 * NO_MEMORY, or UNSUPPORTED for a phase or tag that is too large.
 * deps: n_deps step numbers.  A PUBLISH also depends on the PUBLISH before it, so flags only rise.
 * Steps of length 0 are appended too and complete at once. */
plan_id plan_copy(struct plan *plan, struct plan_ref dst, struct plan_ref src, uint64_t len, const plan_id *deps,
                  size_t n_deps, const char *label);
plan_id plan_reduce(struct plan *plan, struct plan_ref dst, const struct plan_ref *src, size_t n_src, enum plan_raw raw,
                    bool final, uint64_t len, const plan_id *deps, size_t n_deps, const char *label);
plan_id plan_send(struct plan *plan, int peer, uint32_t tag, struct plan_ref src, uint64_t len, const plan_id *deps,
                  size_t n_deps, const char *label);
plan_id plan_recv(struct plan *plan, int peer, uint32_t tag, struct plan_ref dst, uint64_t len, const plan_id *deps,
                  size_t n_deps, const char *label);
plan_id plan_publish(struct plan *plan, uint32_t phase, const plan_id *deps, size_t n_deps, const char *label);
plan_id plan_await(struct plan *plan, int peer, uint32_t phase, const plan_id *deps, size_t n_deps, const char *label);

/* plan_need, plan_source, plan_target: add a pending dep, source or destination, for the next step that is appended, so
 * that lists of any length need no array.  Pending sources come before those in its arguments.  Destinations: for
 * REDUCE only, and before its first source. */
void plan_need(struct plan *plan, plan_id id);
void plan_source(struct plan *plan, struct plan_ref src);
void plan_target(struct plan *plan, struct plan_ref dst);

/* plan_join: a copy of no bytes, which is one dep in place of many. */
plan_id plan_join(struct plan *plan, const plan_id *deps, size_t n_deps, const char *label);

/* plan_scratch: reserves bytes of scratch (64-byte aligned) and returns their offset. */
uint64_t plan_scratch(struct plan *plan, uint64_t bytes);

/* plan_limit: makes the plan fail with UNSUPPORTED if number is larger than last; what: "tag". */
void plan_limit(struct plan *plan, const char *what, uint64_t number, uint64_t last);

/* plan_scale: for premul_sum, called before the builder: appends a step that multiplies the rank's values, `bytes` of
 * SEND, by its factor, into scratch.  Later references to SEND mean those products, and no other step multiplies.
 * direct: the host can access SEND. */
void plan_scale(struct plan *plan, uint64_t bytes, bool direct);

/* plan_scale_of: appends a step that multiplies original values of that rank by that rank's factor: a REDUCE of one
 * source, for builders of algorithms that scale what they fetch (algo.h). */
plan_id plan_scale_of(struct plan *plan, int rank, struct plan_ref dst, struct plan_ref src, uint64_t len,
                      const plan_id *deps, size_t n_deps);

/* plan_finish: fills the successor lists, or returns the first failure, NO_MEMORY or UNSUPPORTED.  The plan is
 * read-only from then on. */
choir_status plan_finish(struct plan *plan);

/* plan_dump, plan_dump_dot: write the plan as text, one line for each step, or as a Graphviz graph. */
void plan_dump(const struct plan *plan, FILE *out);
void plan_dump_dot(const struct plan *plan, FILE *out);

/* plan_dump_dot_rank: writes one rank's steps as a cluster of a graph of several ranks, with nodes r<rank>s<step>.
 * Rank 0 opens the graph; the caller closes it. */
void plan_dump_dot_rank(const struct plan *plan, int rank, FILE *out);

const char *plan_kind_name(enum plan_kind kind);
const char *plan_buf_name(enum plan_buf buf);

#endif
