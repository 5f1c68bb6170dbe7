/* SPDX-License-Identifier: MIT */
/* Plan builders: one algorithm a file, in one table.  Builders are pure: they use no OpenCL, MPI, clock or environment,
 * and the same input gives the same plan.  The inputs of all ranks differ only in `me`, the buffers' access and
 * displacements. */
#ifndef ALGO_ALGO_H
#define ALGO_ALGO_H

#include "algo/collective.h"
#include "plan/plan.h"

/* The node of each rank.  Ranks of one node need not be consecutive. */
struct layout {
	int n; /* ranks */
	int n_nodes;
	const int *node_of;       /* [n] */
	const int *local_rank_of; /* [n] the rank's number on its node (local_rank), in rank order from 0 */
	const int *node_size;     /* [n_nodes] */
	const int *node_first;    /* [n_nodes + 1] into node_ranks */
	const int *node_ranks;    /* [n] ranks, grouped by node, ascending within each */
	int min_node_size, max_node_size;
};

struct algo_in {
	const struct layout *layout;
	int me;
	enum collective collective;
	uint64_t elem_bytes; /* a power of two up to 64 */
	/* where a buffer holds a block for each rank: one block; of v forms: all blocks; alltoallv: the mean block, for
	 * the rules; else the whole */
	uint64_t bytes;
	/* v forms: [n] bytes of each rank's block; alltoallv: [n * n], row = sender; else NULL */
	const uint64_t *block_bytes;
	/* alltoallv, in place of block_bytes: [n] bytes that this rank sends to each rank and receives from each, both
	 * packed; for algorithms whose plan depends on no other rank's blocks */
	const uint64_t *to_bytes, *from_bytes;
	/* allgatherv, gatherv: [n] offsets of the blocks in this rank's RECV; scatterv: in the root's SEND; NULL =
	 * packed. Of gatherv and scatterv the root's hold */
	const uint64_t *block_off;
	/* alltoallv: [n * n], row = sender: offsets of the blocks in the sender's SEND; NULL = packed */
	const uint64_t *send_off;
	const uint64_t *recv_off; /* alltoallv: [n] offsets of the blocks in this rank's RECV; NULL = packed */
	int root;                 /* of rooted collectives; send and recv: the peer */
	/* SEND and RECV share bytes.  Where one of them holds blocks the other is this rank's block of it
	 * (reduce_scatter: or its start); else both are the same; alltoallv: never in place */
	bool in_place;
	/* in place: byte offset of the block in the buffer of blocks */
	uint64_t in_place_off;
	uint32_t lists; /* SEND and RECV are lists of so many buffers, some of which may be the same; 0 = not */
	/* the host can load and store there; else only COPY accesses SEND or RECV, and not from one to the other */
	bool send_direct, recv_direct;
	bool owns_copied; /* neither is direct, but a command of the device copies from SEND to RECV: COPY may */
	/* neither is direct, but kernels of this rank's device read SEND and write RECV: REDUCE may.  The rank is
	 * alone, or Note [own block] in algo/reduce_scatter_slots.c */
	bool owns_reduced;
	/* all ranks are on one node and may access each other's buffers by PLAN_PEER_*.  The same on all ranks of the
	 * comm; if a buffer turns out not to be accessible, exec takes another plan */
	bool shared;
	/* all ranks are on one node, their devices share a context, and kernels can do the call's reductions: the most
	 * device memory that a plan of a rank takes, >= 64 a rank; 0 = they do not.  The same on all ranks of the comm;
	 * if a buffer turns out to be elsewhere, exec takes another plan */
	uint64_t device_bytes;
	bool nt;         /* nt stores: the buffers of all ranks of the node take more than half of its cache */
	bool far_memory; /* a rank's device has memory of its own, behind a bus; the same on all ranks */
	/* in which order rings visit the ranks (pattern_order.h); the same on all ranks, and order_fits */
	uint8_t order;
	/* the longest chunk through slots and, with message_bytes, of a message, if the call says so; 0 = it does
	 * not */
	uint64_t chunk_bytes;
	/* the bytes that a command copies between the host and memory of class stage in the time that it takes without
	 * any, the most of all ranks; 0 = no rank has such memory.  The same on all ranks, but measured where a bus is
	 * between: bits must not depend on it */
	uint64_t command_bytes;
	/* with device_bytes: the time of a copy between the ranks' devices over that of as many bytes on the bus, in
	 * percent, the most of all ranks; 0 = unknown.  The same on all ranks, but measured, as command_bytes is */
	unsigned peer_percent;
	/* the second-level cache of a core, the least of all ranks; 0 = unknown.  The same on all ranks */
	uint64_t core_cache_bytes;
	bool staged; /* the call wants no plan that accesses SEND or RECV but by copies: neither is direct then */
	/* premul_sum: the plan begins with plan_scale, unless it is on_device; the same on all ranks; `shared` is
	 * false then */
	bool scaled;
	/* the operator has a final expression (mean); builders always mark the last REDUCE of an element final */
	bool final_op;
	enum plan_order fold_order; /* the order that the call asks for; the same on all ranks */
	/* bytes of each arena slot; the same on all ranks of the comm; a multiple of 64 * max_node_size, >= 4096 */
	uint64_t slot_bytes;
	uint64_t message_bytes; /* of the longest message that a step may send */
};

struct algorithm {
	enum collective collective;
	const char *name;
	const char *about;          /* cost and limits in one line */
	enum plan_order fold_order; /* of every element, for every call that fits; the plan checker proves it */
	/* NULL if the algorithm can do this call, else a constant text with the reason ("needs all ranks on one
	 * node") */
	const char *(*unfit)(const struct algo_in *in);
	/* fills an initialised plan and calls plan_finish */
	choir_status (*build)(const struct algo_in *in, struct plan *plan);
	/* a plan on the device (Note [device plans] in algo/device.h); where in->scaled it multiplies what it fetches
	 * by each rank's factor itself (plan_scale_of) */
	bool on_device;
};

extern const struct algorithm algorithms[];
extern const size_t n_algorithms;

/* Of more ranks no device reduces its own block: more bytes would cross the bus than where the host reduces. */
enum { OWN_BLOCK_RANKS = 3 };

/* Reductions of a rank's own block that a plan has under way at a time: exec has room for so many. */
enum { OWN_BLOCK_TURNS = 3 };

/* algo_unfit: NULL if the algorithm can do this call in the order that it asks for, else the reason, a constant text.
 * algo_disorder: the part of algo_unfit about the order. */
const char *algo_unfit(const struct algorithm *algorithm, const struct algo_in *in);
const char *algo_disorder(const struct algorithm *algorithm, const struct algo_in *in);

/* algo_find: the algorithm of that name, or of GCL's name for it (clockwise_ring); NULL if there is none. */
const struct algorithm *algo_find(enum collective collective, const char *name);

/* algo_default: the choice of the built-in rules, by what is the same on every rank. */
const struct algorithm *algo_default(const struct algo_in *in);

/* algo_device_least: from so many bytes on ranks whose devices share a context leave the host out, UINT64_MAX = never;
 * prefix: of scan and exscan; the others as in algo_in.  Note [far or on the device] in algo_default.c. */
uint64_t algo_device_least(int ranks, bool prefix, uint64_t command_bytes, unsigned peer_percent);

#endif
