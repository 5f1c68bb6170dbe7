/* SPDX-License-Identifier: MIT */
/* The meeting of the parties of a new comm: what they tell each other, and what all of them conclude. */
#ifndef API_MEET_H
#define API_MEET_H

#include "api/join.h"
#include "exec/slot_ring.h"

enum { MEET_MESSAGE_BYTES = 256 * 1024 };

/* What a party says first. */
struct hello {
	uint32_t magic;
	int32_t n_local;
	int64_t pid;
	uint64_t machine;    /* who can share memory: machine, user, network namespace */
	uint64_t context;    /* party 0's becomes the comm's */
	int32_t has_transport;
	int32_t ranks_per_node;
	struct bell_address bell;
	unsigned char cores[128]; /* a cpu_set_t: where its threads may run */
};

/* What it says of each of its ranks. */
struct member {
	int32_t rank;        /* wanted; -1 = next in order */
	int32_t endpoint;    /* inherited; -1 = made here */
	uint64_t device;     /* what the reduction's bits depend on */
};

struct meeting {
	const struct join *join;
	int n_parties, me;
	struct hello *hellos;      /* [n_parties] */
	int n;                     /* ranks */
	int *party_of;             /* [n] */
	int *my_ranks;             /* [n_local] */
	int *node_of;              /* [n] */
	int *endpoint_of;          /* [n] */
	bool mixed_devices, crowded;
	bool one_process;          /* there is but my party, and the host reaches its devices' memory directly */
	bool one_machine;          /* all parties can share memory, though they may be laid out as several nodes */
	struct slot_sizes slots;
	struct layout layout;
	struct arena **arenas;     /* [layout.n_nodes] of nodes that have a rank of mine, else NULL */
	struct arena *fifo_arena;  /* memory of the shared-memory transport */
	struct pump **pumps;       /* [n_local] */
	bool transport_used;       /* join->config->transport went into a pump */
	bool all_met;              /* the gathers still work */
};

/* meet: the gathers.  Fills the meeting; on failure too it must be ended. */
choir_status meet(struct meeting *meeting);

/* meet_agree: SUCCESS only if every party's status is; else mine, or the first failing party named. */
choir_status meet_agree(struct meeting *meeting, choir_status mine);

/* meet_end: frees; a transport that no pump took is destroyed. */
void meet_end(struct meeting *meeting);

/* meet_links: pumps and endpoints (in links.c). */
choir_status meet_links(struct meeting *meeting);
choir_status meet_gather(struct meeting *meeting, const void *mine, size_t bytes, void *all);

#endif
