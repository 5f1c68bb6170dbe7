/* SPDX-License-Identifier: MIT */
/* The members of a comm's engine, by who may touch them: any caller under a lock (struct submission), or the one thread
 * that has the right to drive (struct engine). */
#ifndef EXEC_ENGINE_STATE_H
#define EXEC_ENGINE_STATE_H

#include "algo/choice_memory.h"
#include "dev/dev.h"
#include "exec/nt_plan.h"
#include "exec/tagged.h"

#include <pthread.h>
#include <stdatomic.h>

struct run;
struct prepared;

enum {
	COMM_LANES = 8, /* calls that may be in flight on the arena at once */
	PREPARED_FIRST = 32,
	PREPARED_MOST = 1024, /* prepared calls that a comm keeps at first, and at most */
};

/* See slot_ring.h. */
struct slot_ring {
	uint64_t next; /* the next call's range ends there */
	/* the range of the latest call of each lane, in cache lines */
	uint32_t from_line[COMM_LANES], to_line[COMM_LANES];
};

/* Finished runs, kept for the next calls. */
struct run_pool {
	struct run *first;
	int n;
};

/* Calls get their numbers here and wait until the driver takes them.  Any thread under `lock`; the atomics are read
 * without it too, and `unfinished` and `in_jobs` are counted without it. */
struct submission {
	pthread_mutex_t lock;                 /* held for a few instructions */
	struct run *incoming, **incoming_end; /* submitted, oldest first */
	_Atomic bool has_incoming;
	_Atomic bool closing;   /* no call is accepted any more */
	_Atomic int unfinished; /* runs submitted and not yet completed */
	_Atomic int in_jobs;    /* those of them whose job a thread is doing: see engine_do_job */
	_Atomic uint64_t next_seq;
	uint64_t *sent, *received; /* [n] calls of each pair so far, with tag 0 */
	struct tagged tagged;      /* and with other tags */
	uint64_t lone_calls;       /* calls so far that no other rank takes part in */
	struct slot_ring slots;
	struct run_pool pool, bare; /* with what they allocated, which is taken first; those that it has no room for */
};

/* Runs that become eligible one after another: of one kind, see flight.h. */
struct run_queue {
	struct run *first, *last; /* not eligible yet; last is valid if there is a first */
	int n_eligible;
};

/* The runs that the driver has taken, see flight.h.  The driver only. */
struct flight {
	struct run *all, **all_end;           /* in order of submission: walked by slow checks only */
	struct run *to_check;                 /* the slow check goes on with that one; NULL = with the first */
	struct run *may_be_in_deps;           /* no collective before it waits for its deps; NULL = none does */
	struct run *eligible, **eligible_end; /* those of them that every drive advances */
	struct run_queue *queues;             /* [n_queues] by enum queue_number in flight.h */
	size_t n_queues;
};

/* Arrays of boards (struct step_board) that no run has just now.  The driver only. */
enum { SPARE_BOARDS = 2 * COMM_LANES };
struct spare_boards {
	void *arrays[SPARE_BOARDS];
	uint32_t capacity[SPARE_BOARDS]; /* steps */
	int n;
};

/* The comm has one run of each kind for inline execution. */
enum inline_kind { INLINE_COLLECTIVE, INLINE_SEND, INLINE_RECV, INLINE_KINDS };

struct cache_entry {
	uint64_t hash;             /* of the call's key */
	struct prepared *prepared; /* NULL = empty */
};

/* A call that the call cache had no room for. */
struct dropped_call {
	uint32_t hash, number;
};

/* The last calls, which the next one may be again.  The driver only. */
struct call_cache {
	struct cache_entry *entries;              /* [last + 1] the last calls, see call_cache.c */
	struct prepared *latest;                  /* the last one that was kept; a reference; NULL = none yet */
	uint32_t last;                            /* a power of two less one */
	uint32_t n_dropped;                       /* calls that others replaced */
	struct cache_entry first[PREPARED_FIRST]; /* entries, until that is too small */
	struct dropped_call *dropped;             /* [PREPARED_MOST] by their hashes; NULL = none yet, or no memory */
};

/* The parts of the arena that this rank uses so far.  The driver only. */
struct arena_use {
	uint64_t calls_over; /* all calls of lower numbers are over on all ranks of the node */
	/* [node size] what I saw last of each rank's arena_control.done */
	uint64_t (*done_seen)[COMM_LANES];
	bool has_slots, has_short_slots; /* my ring of slots is allocated, and the places of short calls */
	uint64_t rings_mapped;           /* bit r: local rank r's ring to me is mapped */
	int slots_looked;                /* looks for peers' slots so far; see slot_ring.c */
	bool no_rings;                   /* no memory for a p2p ring: messages take the transport */
	bool wrap_tried;                 /* mem was asked for: when a kernel first had to read the arena in place */
	struct dev_memory mem;           /* the arena as the device sees it; zeroed if it cannot */
	bool pin_tried;                  /* pinned was asked for: when a long staged copy first went to the arena */
	cl_mem pinned;                   /* by which OpenCL knows the arena; NULL if it has no use for that */
};

/* The thread that engine_enter let in (the driver) alone touches what follows the atomics. */
struct engine {
	_Atomic bool driven; /* the right to drive is taken */
	_Atomic bool closed; /* nobody drives: the comm is destroyed, or a shell; written by who has the right to drive,
	                        or has the comm for itself */
	_Atomic bool device_works; /* commands of the device were under way when nothing moved; see device_wait.c */
	struct flight flight;
	struct call_cache cache;
	struct spare_boards boards;
	struct run *inline_runs[INLINE_KINDS]; /* see inline.c; NULL until first needed */
	struct arena_use arena;
	struct nt_entries nt;
	bool any_dead;        /* a process of comm.processes was seen dead twice */
	bool sends_stuck;     /* messages of the transport did not leave for a moment: Note [back-pressure] in
	                       * inline.c */
	int64_t withdrawn_ns; /* when this rank left the calls of the failed comm, 0 = has not */
	struct choice_memory choice_memory; /* of scripts */
};

#endif
