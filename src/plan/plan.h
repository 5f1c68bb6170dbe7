/* SPDX-License-Identifier: MIT */
/* A plan is one rank's share of a collective as a DAG of steps: pure data, no pointer to user memory, so it is cached,
 * printed, checked and run for any buffers of the same shape.  Steps are in an order in which they could run one by
 * one: deps point to earlier steps only. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <choir/types.h>
#include <stdbool.h>
#include <stdio.h>

/* What a reference is relative to.  All offsets and lengths in plans are bytes. */
enum plan_buf {
	PLAN_SEND,    /* the caller's send buffer */
	PLAN_RECV,    /* the caller's receive buffer */
	PLAN_SCRATCH, /* host memory of plan->scratch_bytes, private to this run */
	PLAN_SLOT,    /* the arena slot of rank ref.peer (same node) in the collective's lane, plan->slot_bytes */
	/* The buffers of rank ref.peer (same node) themselves.  A plan that has them begins once the buffers of every
	 * rank of the node are ready, and touches a peer's before it publishes the phase that this peer awaits. */
	PLAN_PEER_SEND,
	PLAN_PEER_RECV,
};

struct plan_ref {
	enum plan_buf buf;
	int32_t peer; /* SLOT, PEER_SEND, PEER_RECV: comm rank */
	uint64_t off;
};

enum plan_kind {
	PLAN_COPY,       /* dst = src[0], len bytes */
	/* dst = src[0] op src[1] op ... (left fold in that order); dst may be exactly one of the sources */
	PLAN_REDUCE,
	PLAN_SEND_MSG,   /* src[0], len bytes to rank peer under tag */
	PLAN_RECV_MSG,   /* len bytes from rank peer under tag into dst */
	PLAN_PUBLISH,    /* raises my flag to phase tag: all that went before is visible to the node */
	PLAN_AWAIT,      /* until rank peer (PLAN_ALL: every rank of the node) has published phase tag */
};

#define PLAN_ALL (-1)

/* Which sources of a REDUCE are the callers' original values, not partial results: square_add squares those. */
enum plan_raw { PLAN_RAW_NONE, PLAN_RAW_REST /* all but src[0] */, PLAN_RAW_ALL };

struct plan_step {
	enum plan_kind kind;
	enum plan_raw raw;  /* REDUCE */
	bool final;         /* REDUCE: the result is the last one: mean divides here */
	int32_t peer;       /* SEND_MSG, RECV_MSG, AWAIT */
	/* messages: unique per (sender, receiver), up to PLAN_LAST_TAG; PUBLISH, AWAIT: the phase, 1 to
	 * PLAN_LAST_PHASE */
	uint32_t tag;
	struct plan_ref dst;
	/* in plan->refs: further destinations of a REDUCE, which gets the same result everywhere */
	uint32_t more_first, n_more;
	uint32_t src_first, n_src;   /* in plan->refs */
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
	uint64_t slot_bytes; /* of every slot, as the builder was told */
	/* how much of its beginning is used on any rank; all of it unless the builder says less, the same on all
	 * ranks */
	uint64_t slot_used;
	uint64_t elem_bytes;
	bool messages;       /* some step sends or receives */
	bool awaits;         /* some step waits for a phase */
	bool peers;          /* some step touches a peer's buffer */
	bool writes_slot;    /* some step writes to this rank's slot */
	bool alike;          /* and either all ranks must be in place or none */
	/* set by the builder: results do not fit the cache: they are written past it into the callers' buffers */
	bool stream;
	uint32_t last_phase; /* the highest phase this rank publishes */
	uint32_t scaled;     /* the step of plan_scale; PLAN_NO_STEP */
	uint64_t scaled_off; /* its result in scratch */
	/* set by plan_finish: for each step, the later steps that depend on it (succs[succ_first[i]] ..
	 * succs[succ_first[i + 1]]) */
	uint32_t *succ_first, *succs;
	/* while building: capacities, what was gathered for the next step, and the first error, which plan_finish
	 * returns */
	uint32_t cap_steps, cap_refs, cap_deps;
	uint32_t pending_deps, pending_refs, pending_more;
	uint32_t last_publish;
	choir_status building;
};

/* What the flag of a lane (node/arena.h) and the tag of a message (exec/steps.c) have room for. */
#define PLAN_LAST_PHASE ((1u << 20) - 2)
#define PLAN_LAST_TAG   ((1u << 24) - 1)

/* A step's number, to depend on.  PLAN_NO_STEP as a dep is ignored, so builders need no branches. */
typedef uint32_t plan_id;
#define PLAN_NO_STEP UINT32_MAX

/* plan_init: an empty plan in storage of the caller's; plan_fini frees what it holds (legal on a zeroed plan). */
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

/* Builders: append a step and return its number.  They never fail outwardly: the first failure is kept and returned by
 * plan_finish: NO_MEMORY, or UNSUPPORTED for a phase or a tag beyond the last.
 * deps: n_deps step numbers (PLAN_NO_STEP allowed and skipped).  A PUBLISH additionally depends on the PUBLISH before
 * it, so flags only rise.
 * Steps of zero length are appended too (an executor finishes them at once), so numbers stay regular. */
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

/* plan_need, plan_source, plan_target: for the next step appended, one more dep, one more source (before those in its
 * arguments), one more destination (REDUCE only; before the first source): lists of any length without arrays. */
void plan_need(struct plan *plan, plan_id id);
void plan_source(struct plan *plan, struct plan_ref src);
void plan_target(struct plan *plan, struct plan_ref dst);

/* plan_join: one number to depend on instead of many: a copy of no bytes. */
plan_id plan_join(struct plan *plan, const plan_id *deps, size_t n_deps, const char *label);

/* plan_scratch: reserves bytes of scratch (64-byte aligned) and returns their offset. */
uint64_t plan_scratch(struct plan *plan, uint64_t bytes);

/* plan_limit: refuses the plan, as the builders do, if the number is larger than the last one there can be. */
void plan_limit(struct plan *plan, const char *what, uint64_t number, uint64_t last);

/* plan_scale: before the builder: of premul_sum, the plan's first step multiplies the rank's values, `bytes` of SEND,
 * by its factor.  The products are what the builder takes for SEND, in scratch, and no other step multiplies.  direct:
 * the host reaches SEND. */
void plan_scale(struct plan *plan, uint64_t bytes, bool direct);

/* plan_finish: fills the successor lists.  NO_MEMORY or UNSUPPORTED if anything could not be appended.  After it the
 * plan is read-only. */
choir_status plan_finish(struct plan *plan);

/* plan_dump, plan_dump_dot: the plan as text, one line a step, and as Graphviz. */
void plan_dump(const struct plan *plan, FILE *out);
void plan_dump_dot(const struct plan *plan, FILE *out);

/* plan_dump_dot_rank: one rank's steps as a cluster of a graph of many, nodes r<rank>s<step>.  Rank 0 opens the graph;
 * the caller closes it. */
void plan_dump_dot_rank(const struct plan *plan, int rank, FILE *out);

const char *plan_kind_name(enum plan_kind kind);
const char *plan_buf_name(enum plan_buf buf);

#endif
