/* SPDX-License-Identifier: MIT */
/* The header that every rank gathers first: it validates the call and is all that decisions are made from.  Pure. */
#ifndef SPARSE_HEADER_H
#define SPARSE_HEADER_H

#include "algo/link_costs.h"
#include "base/user_op.h"
#include "sparse/pairs.h"
#include "sparse/share.h"

/* The bounds of regions that are cut from samples are wrong by at most one sample's pairs of each rank: the busiest of
 * a dozen ranks merges less than 1.2 of the mean. */
#define HEADER_SAMPLES 64

/* Fixed size, no padding; same byte order on all ranks (the transport's promise). */
struct sparse_header {
	uint64_t pairs;     /* that this rank brings: coalesced, or raw */
	uint64_t raw_pairs; /* as the caller gave them */
	uint64_t width;     /* 0 if raw_pairs is 0 */
	int64_t lo, hi;     /* of the indices; lo > hi if there are none */
	uint64_t bad_at;    /* position of the first negative index; raw_pairs = none */
	int64_t bad_index;
	int32_t ind_dtype, val_dtype, op, mode; /* op: user_op_code */
	int32_t algorithm;                      /* row of the table that the caller forces, -1 none */
	int32_t raw;                            /* pairs are the caller's as they came */
	int32_t shared;                         /* the rank can share memory with all others */
	int32_t wire;                           /* choir_sparse_wire */
	/* shared: the address of its list; 0 = none: the list is raw and long */
	struct share_address pairs_at;
	uint64_t list_on_device; /* the number of its list in device memory that all ranks read (lent.h); 0 = none */
	/* there: its share of the device's memory, and the largest buffer */
	uint64_t memory_bytes, buffer_bytes;
	double growth;           /* the last call like this one: indices of the result / pairs of a rank; 0 unknown */
	int32_t last;            /* and its method, -1 none (last_choice.c) */
	struct link_costs costs; /* of the rank's rules */
	/* min(pairs, HEADER_SAMPLES) of its indices, ascending (region_sample) */
	int64_t sample[HEADER_SAMPLES];
};

/* The facts that all ranks compute from all headers, alike. */
struct sparse_facts {
	uint64_t pairs; /* sum over ranks */
	uint64_t most;  /* of the longest list */
	uint64_t least; /* of the shortest */
	uint64_t width;
	struct index_range range;
	int algorithm;              /* forced, else -1 */
	bool raw;                   /* of some rank */
	bool shared;                /* all ranks can */
	bool on_device;             /* all lists stay on the device */
	bool some_stay;             /* some do, but not all */
	const struct user_op *user; /* the caller's operator; NULL = the library's; filled by who calls header_agree */
	int last;                   /* last and growth of the first rank that has pairs */
	double growth;
};

/* header_agree: MISMATCH naming two ranks and both values, or ARGUMENT naming the rank with a negative index; else the
 * facts. */
choir_status header_agree(const struct sparse_header *all, int n, struct sparse_facts *out);

#endif
