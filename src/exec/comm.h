/* SPDX-License-Identifier: MIT */
/* The comm object: one rank of a group, what it shares with its node, and its engine. */
#ifndef EXEC_COMM_H
#define EXEC_COMM_H

#include "algo/algo.h"
#include "algo/rules.h"
#include "base/kept_error.h"
#include "dev/dev.h"
#include "exec/engine_state.h"
#include "exec/inbox.h"
#include "exec/plan_cache.h"
#include "net/messenger.h"
#include "node/arena.h"

#include <choir/comm.h>
#include <pthread.h>

struct symmetric;
struct keyed;
struct relatives;

enum { COMM_SYMMETRIC = 64 /* symmetric allocations */ };

/* A process of this machine other than mine, whose ranks I wait for, and wake if they are on my node. */
struct comm_process {
	struct bell *bell;
	int64_t process; /* node/process_id.h */
	int dead_looks;  /* how often it was seen dead, 2 at most */
	int *ranks;      /* [n_ranks] its ranks on my node, or on others */
	int n_ranks;
};

/* State of a rank of another node, as far as it has told or the transport shows, see liveness.h. */
struct liveness_rank {
	_Atomic uint64_t calls;     /* number of calls that the rank has started */
	_Atomic int64_t heard_ns;   /* 0 = never */
	_Atomic uint32_t waits_for; /* rank + 1, 0 = nobody */
	_Atomic bool asked;         /* the rank waits for my answer */
	_Atomic uint32_t asks_gone; /* rank + 1 of which it asks whether that one has gone; 0 = of none */
	int lost_looks;             /* how often the transport was seen to have lost it, 2 at most; driver only */
};

/* The atomics are written by the thread that drives the messenger, and by the drivers of this comm and its
 * relatives. */
struct liveness {
	struct liveness_rank *ranks; /* [n] */
	_Atomic bool any_asked;
	_Atomic bool occupied; /* at the last slow check a call of this comm waited for a rank, or was at work */
	_Atomic int64_t published_for_ns; /* when one of its relatives said for whom the rank waits; 0 = never */
	/* The driver only: when I asked last, when I gave signs last, the rank that gets the next one, how often I
	 * asked who has gone */
	int64_t asked_ns, signed_ns;
	int next_sign;
	unsigned gone_turn; /* of gone_ask */
};

/* The sticky failure: the first one wins.  `text` is final once the status is set; both are set under the lock, and
 * any thread reads them. */
struct comm_failure {
	_Atomic int status; /* a choir_status */
	char text[ERROR_TEXT_BYTES];
	pthread_mutex_t lock;
};

/* See relatives.h.  Under the lock in `all`, but for that pointer. */
struct comm_relation {
	struct relatives *all; /* NULL: none yet, or no more */
	struct choir_comm *next;
	struct kept_error failure; /* of one of them */
	uint64_t calls;            /* collectives that this comm had made before it */
};

/* The references to the comm, and the threads that are in a call.  Any thread. */
struct comm_uses {
	_Atomic int refs;
	_Atomic int inside;           /* threads between comm_enter and comm_leave */
	_Atomic int flushing;         /* threads in choir_comm_flush, which wait for those */
	_Atomic int making;           /* of those inside, threads of the library's that make a comm of this one */
	_Atomic uint64_t last_thread; /* that called, see Note [one thread, several ranks] in api/call.c */
};

/* Its places in the list of all comms of the process and in that of the busy ones.  Under comm_list_lock (comm_list.h),
 * but for the atomics. */
struct comm_listing {
	struct choir_comm *next, *next_busy, **link_busy; /* link_busy: what points at it */
	bool listed;
	_Atomic bool busy;
	_Atomic int idle_looks; /* how often it was seen with nothing to do since it last had work */
};

/* See symmetric.h.  Written by collective calls, one at a time; any thread reads the atomics. */
struct symmetric_table {
	struct symmetric *_Atomic entries[COMM_SYMMETRIC];
	_Atomic int n;
	_Atomic uint64_t changes; /* of the table, so far */
};

/* Note [order of locks].  Where locks nest, a thread takes them in this order: the list of comms (comm_list.h), the
 * family, the keyed calls, the submissions, the messenger's turn, its routes, the inbox, the failure, the relatives.
 * The locks of events, of the plan cache, of the notes of keyed calls and of the worker are innermost: whoever holds
 * one takes no other.  The right to drive is no lock: it is only tried for, and its holder may take any of these.
 *
 * The members before `engine` are constant from creation to comm_discard, and any thread reads them; in `processes` the
 * driver counts.  Each struct from `engine` on says who may touch it. */
struct choir_comm {
	int rank, n;
	char name[48];
	uint64_t context; /* in every message's header */
	int generation;   /* of the process (fork) */
	struct layout layout;
	choir_device *device;
	bool host_reduce_only; /* ranks have different devices: redundant reductions must not differ */
	bool far_cores;        /* the cores of my node's ranks share no cache, as far as the system says */
	uint64_t far_ranks;    /* bit r: those of local rank r and mine share none; of the first 64 ranks */
	bool crowded;          /* more ranks on this machine than cores: never spin */
	/* all ranks are threads of this process, and their devices' memory is reached directly */
	bool one_process;
	bool far_memory; /* a rank's device is behind a bus: algo_in of algo */
	/* device memory that a plan may take; 0: the ranks' devices cannot reach each other's memory, see device.h of
	 * algo */
	uint64_t device_bytes;
	uint64_t command_bytes;    /* of the ranks' memory of class stage: algo_in of algo */
	unsigned peer_percent;     /* the same of copies between the ranks' devices */
	uint64_t core_cache_bytes; /* algo_in of algo */
	struct arena *arena;
	const struct poison *poison;    /* in the arena */
	struct arena_control *controls; /* in the arena: [node_size] */
	struct arena_lane *lanes;       /* in the arena: [node_size][COMM_LANES] */
	int node_size;                  /* the ranks of my node */
	int local_rank;                 /* my number on the node */
	int64_t process;                /* mine: node/process_id.h */
	/* [n_watched], those of my node first; the driver counts in them how often each was seen dead */
	struct comm_process *processes;
	int n_near;                          /* with ranks on my node */
	int n_watched;                       /* also those of this machine that the layout put on other nodes */
	bool wake_mine;                      /* other threads of this process are ranks of the node too */
	uint64_t slot_bytes, fallback_bytes; /* see slot_ring.h */
	uint64_t message_bytes;
	uint64_t cache_bytes;        /* the last level of this machine's, about */
	struct messenger *messenger; /* comms of this process share it; NULL in a shell alone (api/started.h) */
	int *endpoint_of;            /* [n] */
	int *origin_of;              /* [n] their numbers in the comm that this one was split from, first of all */
	struct comm_family *family;  /* the local ranks created together */
	struct rules rules;
	char *options;       /* of all dense calls; NULL = none */
	bool options_taken;  /* they are those of the comm that this one was split from */
	struct keyed *keyed; /* calls match by key, see keyed.h; NULL = by order */
	char apart[256];     /* why ranks of one machine are on several nodes; "" if they are not */
	int64_t deadline_ms, warn_ms;
	bool order_ranks; /* reductions are folded in rank order, unless a call says otherwise */

	struct engine engine;
	struct submission submission;
	struct plan_cache plans;   /* has a lock */
	struct inbox inbox;        /* has a lock */
	struct liveness liveness;  /* its struct says who writes what */
	struct gone *_Atomic gone; /* filled and read like liveness; entries stay; see gone.h */
	struct symmetric_table symmetric;
	struct comm_failure failure;
	struct comm_relation relation;
	struct comm_uses uses;
	struct comm_listing listing;
};

/* Local ranks that were created together. */
struct comm_family {
	_Atomic int refs;
	int n;
	struct choir_comm **members; /* borrowed: an entry is cleared when that comm goes */
	pthread_mutex_t lock;
};

/* comm_is_near: is that rank of this rank's node? */
static inline bool comm_is_near(const struct choir_comm *comm, int rank)
{
	return comm->layout.node_of[rank] == comm->layout.node_of[comm->rank];
}

/* comm_rank_at: the rank with that number on my node. */
static inline int comm_rank_at(const struct choir_comm *comm, int local_rank)
{
	return comm->layout.node_ranks[comm->layout.node_first[comm->layout.node_of[comm->rank]] + local_rank];
}

/* comm_lane, comm_control: of the rank of my node with that number. */
static inline struct arena_lane *comm_lane(const struct choir_comm *comm, int local_rank, int lane)
{
	return &comm->lanes[local_rank * COMM_LANES + lane];
}

static inline struct arena_control *comm_control(const struct choir_comm *comm, int local_rank)
{
	return &comm->controls[local_rank];
}

/* comm_symmetric_changes: how often the memory that the ranks share has changed so far. */
static inline uint64_t comm_symmetric_changes(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->symmetric.changes, memory_order_acquire);
}

/* comm_by_kernels: does the device reduce, not the host? */
static inline bool comm_by_kernels(const struct choir_comm *comm)
{
	return dev_reduce_where(comm->device) == CHOIR_REDUCE_KERNEL && !comm->host_reduce_only;
}

struct choir_comm *comm_retain(struct choir_comm *comm);
void comm_release(struct choir_comm *comm);

/* comm_enter: until comm_leave nothing that the comm has is freed by a destroying thread.  False: it has been
 * destroyed, and only its shell is left, which a reference keeps.  Nested calls are fine.  Between the two a thread
 * waits for nothing but calls on the comm, all of which choir_comm_destroy ends, and for builds of kernels, until its
 * own call's deadline. */
bool comm_enter(struct choir_comm *comm);
void comm_leave(struct choir_comm *comm);

/* comm_fail: makes the comm's failure sticky (the first one wins), and tells every rank.  comm_fail_from_peer: one that
 * another node's rank has told: tells the ranks of this node.  Any thread. */
void comm_fail(struct choir_comm *comm, choir_status status, const char *text);
void comm_fail_from_peer(struct choir_comm *comm, choir_status status, const char *text);

/* comm_see_poison: has a peer of the node failed the comm?  Then it has failed here too.  comm_take_poison: its slow
 * half, where the poison is set. */
void comm_take_poison(struct choir_comm *comm);
static inline void comm_see_poison(struct choir_comm *comm)
{
	if (comm->poison != NULL && poison_is_set(comm->poison))
		comm_take_poison(comm);
}

/* comm_has_failed: here, as far as this rank knows; its sentence is there. */
static inline bool comm_has_failed(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->failure.status, memory_order_acquire) != CHOIR_SUCCESS;
}

/* comm_failure: SUCCESS, or the sticky failure with its sentence as last error. */
choir_status comm_failure(struct choir_comm *comm);

/* comm_failure_inside: the same between comm_enter and comm_leave. */
choir_status comm_failure_inside(struct choir_comm *comm);

/* comm_send: a message to that rank: the header, of which the caller fills all but magic, comm, src and dst, and the
 * payload.  Never blocks.  PEER_DEAD: only that rank is not reached. */
choir_status comm_send(struct choir_comm *comm, int rank, struct wire_header *header, const void *payload,
                       size_t bytes);

/* comm_has_room: may a message of data go to that rank now?  Note [room] in net/sends.h. */
static inline bool comm_has_room(const struct choir_comm *comm, int rank)
{
	return messenger_has_room(comm->messenger, comm->endpoint_of[rank]);
}

/* comm_wake_node: wakes the other processes of the node, and this one.
 * comm_wake_step: for a step of this rank, wakes those of them that may wait for it. */
void comm_wake_node(struct choir_comm *comm);
void comm_wake_step(struct choir_comm *comm);

/* comm_wake_self: wakes this process; in the form of a callback. */
void comm_wake_self(void *unused);

#endif
