/* SPDX-License-Identifier: MIT */
/* The processes of a new comm: the facts that they gather, and the layout that each of them computes from the facts. */
#ifndef API_BOOTSTRAP_H
#define API_BOOTSTRAP_H

#include "api/join.h"
#include "api/process.h"
#include "exec/slot_ring.h"

enum { BOOTSTRAP_MESSAGE_BYTES = 256 * 1024, BOOTSTRAP_MOST_MESSAGE_BYTES = 1 << 30 };

/* A process's part of the gather of arena addresses, which is the second gather or the third. */
struct node_offer {
	int32_t status;             /* a choir_status: what came before */
	struct arena_address arena; /* of the first node that the process leads */
};

struct bootstrap {
	const struct join *join;
	int n_processes, me;
	struct process *processes; /* [n_processes] */
	struct node_offer *offers; /* [n_processes] */
	int n;                     /* ranks */
	int *process_of;           /* [n] */
	int *my_ranks;             /* [n_local] */
	int *node_of;              /* [n] */
	int *endpoint_of;          /* [n] */
	bool mixed_devices;
	uint64_t
	    command_bytes;     /* the most of all ranks, of far ones where there are some; 0 = none is of class stage */
	bool far_memory;       /* of a rank */
	unsigned peer_percent; /* of one_context: dev_peer_percent, the most of all ranks */
	uint64_t core_cache_bytes; /* the least of all processes; 0 = one's is unknown */
	bool crowded;     /* more ranks run on this machine than the cores that its processes may use together */
	bool far_cores;   /* those cores share no last level cache */
	bool one_process; /* this is the only process, and the host reaches its devices' memory directly */
	/* this is the only process; its devices, of class stage, share a context and can reduce the same types */
	bool one_context;
	char apart[256];  /* why ranks of one machine are on several nodes; "": they are not, or the caller wants it */
	bool one_machine; /* all processes can share memory, though they may be laid out as several nodes */
	struct slot_sizes slots;
	struct layout layout;
	struct arena **arenas;         /* [layout.n_nodes] of nodes that have a rank of mine, else NULL */
	struct arena *ring_arena;      /* memory of the shared-memory transport */
	struct messenger **messengers; /* [n_local] */
	bool transport_used;           /* join->config->transport went into a messenger */
	bool over;                     /* a process or a gather has failed, as all know: none gathers any more */
	bool unheard;                  /* the last bootstrap_agree has not heard the others, who may have agreed */
	int32_t *statuses;             /* [n_processes] room for bootstrap_agree, as are: */
	char (*texts)[ERROR_TEXT_BYTES];
};

/* bootstrap_begin: for the processes of bootstrap->join; after a failure too it must be ended.  A process without
 * memory for this comes to no gather: its peers wait for it as for one that was never started. */
choir_status bootstrap_begin(struct bootstrap *bootstrap);

/* bootstrap_run: the gathers of facts and of arenas.  ready: the status of all work before.  Fills the bootstrap. */
choir_status bootstrap_run(struct bootstrap *bootstrap, choir_status ready);

/* bootstrap_facts: of this process, which has the join's local ranks; the status is its caller's to tell. */
choir_status bootstrap_facts(const struct join *join, struct process *out);

/* bootstrap_gather: bytes of every process to all, in order; ready: as of bootstrap_agree, which comes before.  So a
 * process that fails between two gathers is not waited for in the next.  TRANSPORT if the caller's gather fails.
 * bootstrap_gather_ready: the same of processes that have agreed, and cannot have failed since.
 * bootstrap_gather_facts, bootstrap_gather_offers: of all processes, with what bootstrap_agree says.
 * bootstrap_know_facts: the same as bootstrap_gather_facts where the facts of all are known. */
choir_status bootstrap_gather(struct bootstrap *bootstrap, choir_status ready, const void *mine, size_t bytes,
                              void *all);
choir_status bootstrap_gather_ready(struct bootstrap *bootstrap, const void *mine, size_t bytes, void *all);
choir_status bootstrap_gather_facts(struct bootstrap *bootstrap, choir_status ready, struct process *mine);
choir_status bootstrap_know_facts(struct bootstrap *bootstrap, const struct process *all);
choir_status bootstrap_gather_offers(struct bootstrap *bootstrap, choir_status ready, struct node_offer *mine);

/* bootstrap_agree: SUCCESS only if every process's status is; else mine, or the first failing process named, and the
 * bootstrap is over. */
choir_status bootstrap_agree(struct bootstrap *bootstrap, choir_status mine);

/* bootstrap_name: of a process in sentences: "process 2", or in a split the rank of the parent, "rank 5". */
enum { BOOTSTRAP_NAME = 24 };
const char *bootstrap_name(const struct bootstrap *bootstrap, int process, char text[BOOTSTRAP_NAME]);

/* bootstrap_end: frees; a transport that no messenger took is destroyed. */
void bootstrap_end(struct bootstrap *bootstrap);

#endif
