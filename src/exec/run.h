/* SPDX-License-Identifier: MIT */
/* A run: one part of a call in flight on one rank, from its deps to its event.  Most calls have one part; a sendrecv
 * has two, a list of tensors one for each bucket, and their runs share an event (struct part in prepared.h). */
#ifndef EXEC_RUN_H
#define EXEC_RUN_H

#include "base/wait.h"
#include "exec/comm.h"
#include "exec/deps.h"
#include "exec/event.h"
#include "exec/script.h"
#include "exec/segments.h"

enum { RUN_KEPT = 6 };

/* Note [states of a run].  run_advance (run.c) calls the function of the state until nothing moves.
 *
 *   a call with a plan:
 *     DEPS --> ADMIT --> [PEER_BUFFERS, if the plan accesses peers' buffers] --> MAP --> STEPS --> UNMAP --> ENDED
 *   send and recv take no lane:
 *     DEPS --> MAP --> STEPS --> UNMAP --> ENDED
 *   a script (script.h); one of this rank alone skips ADMIT:
 *     DEPS --> ADMIT --> ASK --> ENDED
 *                        ASK --> PREVIOUS_PLAN --> MAP --> STEPS --> UNMAP --> ASK
 *                        ASK --> JOB --> ASK
 *   ranks' counts differ, so the call goes on as a script:
 *     PEER_BUFFERS or STEPS --> ASK
 *   a failure, of the run or of the comm (run_fail):
 *     any --> WITHDRAW --> ENDED if peers may be in the caller's buffers; the engine ends it (withdraw.h)
 *     any --> ENDED              else
 *
 * The deadline does not run in DEPS.  in_order.c executes a short call without these states, and leaves the run in one
 * of them where it has to wait.
 *
 * A run ends (RUN_ENDED), then is completed (its event is), then discarded.  A rank is done with a call when it has
 * given its lane back.  A comm is closing, then closed, then out of the list of comms. */
enum run_state {
	RUN_DEPS,          /* waiting for what the caller said it depends on */
	RUN_ADMIT,         /* waiting until its lane is free on the whole node */
	RUN_ASK,           /* a script says what comes next */
	RUN_JOB,           /* a job of the script's is due or running, without the right to drive */
	RUN_PREVIOUS_PLAN, /* waiting until the node is done with the script's previous plan */
	RUN_PEER_BUFFERS,  /* waiting until all ranks of the node have said where their buffers are */
	RUN_MAP,           /* mapping the caller's buffers */
	RUN_STEPS,         /* running the plan */
	RUN_UNMAP,
	RUN_WITHDRAW, /* waiting until no peer touches the caller's buffers any more; no step is done from here on */
	RUN_ENDED,
};

/* The steps of the current plan.  The arrays are one allocation, which begins with the events. */
struct step_board {
	cl_event *events;  /* [n_steps] of steps that run on the device */
	uint32_t *pending; /* [n_steps] deps not yet done */
	uint32_t *ready;   /* [n_steps] queue of steps that may start */
	uint32_t *waiting; /* [n_steps] steps that have started and are not done */
	uint32_t ready_head, ready_tail, n_waiting, n_done;
	uint32_t n_watched;  /* the first of waiting: their ends ring the doorbell (run_ring_at_ends) */
	uint64_t bytes_done; /* of the host step at the queue's head */
	bool paused;         /* after so many bytes that others have their turn */
	uint32_t capacity;
};

/* Where the buffers of a rank of the node are here. */
struct run_peer {
	unsigned char *send, *recv;
	uint64_t send_address, recv_address, changes;    /* what send and recv were computed from (operand_find_peer) */
	const uint64_t *send_addresses, *recv_addresses; /* of its segments, in its slot, if the buffers are lists */
};

/* A cl_mem of the run's that grows; NULL = none yet. */
struct device_buffer {
	cl_mem mem;
	uint64_t bytes;
};

/* Memory of the device that a run has for itself: of a plan on the device the scratch, and the slot that peers read;
 * else what reducing kernels cannot read in place, in scratch. */
struct device_memory {
	struct device_buffer scratch, slot;
	struct device_buffer turns[OWN_BLOCK_TURNS]; /* Note [uploads beside kernels] in kernel_step.c */
	uint32_t reductions;                         /* that had their turn */
	struct device_buffer list;                   /* of lists that are gathered: gathered.c */
	struct device_buffer sent;                   /* a copy of what a kernel reads of SEND that is no cl_mem */
	struct dev_bytes rooms[DEV_KINDS];           /* for copies between kinds of memory: device_copy.c */
};

/* The memory from which the peers of a plan on the device copy: a rank's lane has the address of this struct. */
struct run_source {
	struct dev_bytes send;
	struct segments send_list; /* instead of that, if it is a list of segments */
	cl_mem slot;
	double factor; /* of premul_sum */
};

/* A call with its plan and its buffers, which a run executes; a run has a copy of its part's.  While the run is under
 * way record_hash is filled in, maps set the buffers' addresses, and a script replaces send and recv for each plan. */
struct bound {
	struct call_record record; /* of the call: what ranks compare */
	uint64_t record_hash;      /* 0 = not computed yet */
	/* for sentences, where the record has no count, since ranks need not agree on it: elements that this rank
	 * sends, and in how many rows; 0 = none, or no rows */
	uint64_t my_count, my_rows;
	bool pair; /* send or recv: keyed per pair, uses no lane */
	bool pair_sends;
	int pair_peer;
	uint64_t pair_key;    /* of its messages, but for the number, which *pair_count gives */
	uint64_t *pair_count; /* in comm.submission */
	bool single_rank;     /* a script without plans, of this rank only: uses no lane either, as pairs */
	choir_dtype dtype;
	choir_op op;
	double factor;              /* of premul_sum */
	const struct user_op *user; /* the caller's operator; the prepared call holds it; NULL = op is the library's */
	bool by_kernels;            /* REDUCE steps run on the device, also where the plan is not on it */

	struct cached_plan *cached; /* what was prepared; NULL = nothing: a script makes its plans on the way */
	struct algo_in in;          /* the plan was chosen and built for it; its lists are the plan's own */
	/* what the call's options chose instead, if peers turn out not to reach its buffers; NULL = as the rules say */
	const struct algorithm *instead;
	/* Called when counts differ between ranks: turns the run into a script.  NULL: a difference is a
	 * MISMATCH. */
	choir_status (*become_script)(struct run *run);

	struct dev_access send, recv;
	struct segments send_list, recv_list; /* instead of those, if they are lists of segments */
	bool lists;                           /* they are */
	/* where the host cannot map them (class stage): instead of a list, of cl_mems: SEND is gathered from these,
	 * RECV scattered to those; send.mem and recv.mem are the run's (exec/gathered.h).  They lie in the prepared
	 * call's owner.  NULL = they are not */
	const struct segments *gathered, *scattered;
	bool send_shadow, recv_shadow; /* the whole buffer is copied by one command: exec/shadow.h */
	/* one lies inside the other, which alone is mapped (class map) or, with shadows, has memory (class stage) */
	bool send_in_recv, recv_in_send;
	uint64_t inner_off; /* and starts there */
	/* the buffers' symmetric addresses (exec/symmetric.h), for plans whose peers read or write them; for plans on
	 * the device only whether there are buffers: 1 or 0 */
	uint64_t send_address, recv_address;
};

struct prepared;
struct part;

/* Where the call puts what its peers read: slot_ring.h. */
struct run_slot {
	uint64_t at;          /* where mine begins now */
	uint64_t fallback_at; /* and begins once the call goes on as a script; as `at` but for a short place */
	uint32_t after_lanes; /* bit b: the call before it in lane b had some of it, and is waited for */
	bool in_lane;         /* the plan uses so little of its slots that it stands beside the flags */
};

/* How the plan at hand writes what peers read: nt_plan.h. */
struct run_nt {
	bool on;   /* by nt stores */
	int entry; /* of what kind and size the plan is, -1 = of none */
	uint64_t bytes;
	int64_t since_ns; /* since when it runs */
};

/* A call that learns its sizes on the way: script.h. */
struct run_script {
	const struct script_ops *ops; /* NULL = it is none */
	void *state;
	/* just before the event completes, if set; drives: this thread holds the right to drive (inline execution) */
	void (*ended)(struct run *run, bool drives);
	void (*job)(void *state); /* due; NULL once a thread has taken it */
	bool is_callback;         /* the job is a callback of the caller's */
	_Atomic bool job_done;    /* it has returned */
};

/* How long it may take: for the slow check. */
struct run_watch {
	int64_t deadline_ms;
	int64_t started_ns; /* 0 = deps not seen complete yet */
	int64_t first_check_ns;
	int64_t ask_ms; /* when the run next asks who is there; 0 = has not yet */
	bool warned;
};

/* Three threads have a run, one after the other: its maker until it is submitted (a keyed one is then under keyed.c's
 * lock until its key is next); the driver until it ends (of an inline run the caller's thread); the finisher, which is
 * the thread that drove when the run ended, and completes the event without the right to drive.  All other threads see
 * the event only.  Each group of members says who touches it. */
struct run {
	/* its place: the maker sets comm and event; `next` is under the lock of its list, and in the flight the
	 * driver's; the others are the driver's */
	struct run *next;          /* in one list after the other: keyed.c's, incoming, flight.all, ended, the pool */
	struct run **link;         /* in flight.all, where a call's runs are neighbours: what points to it */
	struct run *next_eligible; /* in flight.eligible or its queue */
	struct choir_comm *comm;   /* kept alive by the event */
	choir_event *event;
	enum run_state state;
	bool is_inline; /* being executed by its caller's thread, which holds the right to drive all along */

	/* what it executes: set by the maker, changed by the driver, released by the finisher */
	struct bound bound;
	struct prepared *prepared; /* a reference to the call that it is from; NULL = none: sparse, top-k, one device */
	struct part *part;         /* and its part of that; NULL = it has no parts (alltoallv as a script: it is
	                              prepared to keep its counts, api/alltoallv_call.c) */
	struct cached_plan *other_plan; /* the plan that replaced bound.cached on the way (run_peers.c): a reference */
	struct segments_owner *list_owner; /* what keeps the cl_mems of a list; a reference */
	cl_mem kept[RUN_KEPT];             /* the caller's buffers, retained until the end */
	size_t n_kept;
	const char *function; /* that was called, in constant text; event->name is the caller's name of the call */
	bool named;           /* by the caller */
	char *match_key;      /* choir_call.key; NULL = none */
	struct run_deps deps;

	/* its number: set under submission.lock at submission; after that the driver changes slot alone, the finisher
	 * log_start_ns alone */
	uint64_t number; /* in messages: seq, or a pair's own count with WIRE_PAIR, or a count of lone calls */
	uint64_t seq;    /* among the comm's collectives; as lane and slot not valid for pairs and lone calls */
	int lane;
	struct run_slot slot;
	int64_t log_start_ns; /* when it got its number, if the log wants a line for it; else 0 */

	/* what it and its peers have said in the lane: the driver only; peers read the arena, not these members */
	bool publish_carries_bytes; /* my part of the slot is in lane_bytes until my flag goes up: Note [one store] in
	                             * run_admit.c */
	unsigned char lane_bytes[ARENA_LANE_BYTES];
	/* no phase of the plan will say that this rank is here, and it has not said so: Note [receivers raise no flag]
	 * in run_admit.c */
	bool owes_flag;
	bool records_compared;  /* a step has compared the records of the whole node */
	bool counts_differ;     /* the records were found to differ where they may */
	struct run_peer *peers; /* [node size], kept with the run; NULL until first needed */
	bool peers_changed;     /* they are not those of the part's operand table */

	/* its steps: the driver only, with three exceptions: the maker sets script; drivers of peers in this process
	 * read source after this rank has raised its flag; the thread that does a script's job has script.state
	 * meanwhile and writes script.job_done, an atomic */
	const struct plan *plan; /* at hand: of bound.cached, of other_plan, or the script's; NULL = none */
	uint32_t plan_index;     /* of a script's plans: keeps phases and tags apart */
	struct step_board board;
	bool send_mapped, recv_mapped;
	bool shadows_filled; /* the plan works on the shadows of SEND and RECV: exec/shadow.h */
	bool lists_gathered; /* SEND and RECV, as far as they are lists, have room on the device: exec/gathered.h */
	cl_event map_events[2];
	bool maps_watched; /* their ends ring the doorbell (run_ring_at_ends) */
	struct dev_memory host_scratch;
	struct device_memory device_memory; /* its own on the device */
	struct run_source source;           /* of a plan on the device */
	struct run_nt nt;
	struct run_script script;

	/* its end: the maker sets the deadline, the driver writes the others, the finisher reads status and text */
	struct run_watch watch;
	bool failure_is_local; /* the failure is this event's alone */
	choir_status status;
	char *text; /* NULL = no sentence */
};

/* run_prefetch: brings the run near: it is used soon, and with many in flight each has left the caches. */
static inline void run_prefetch(const struct run *run)
{
	enum { CACHE_LINE_BYTES = 64 };

	for (size_t at = 0; run != NULL && at < sizeof *run; at += CACHE_LINE_BYTES)
		__builtin_prefetch((const unsigned char *)run + at, 1);
}

static inline bool run_is_script(const struct run *run)
{
	return run->script.ops != NULL;
}

/* run_is_active: its states still advance: it has neither failed nor ended. */
static inline bool run_is_active(const struct run *run)
{
	return run->state < RUN_WITHDRAW;
}

/* --- run_life.c --- */

/* run_create: a run with its event (one reference for the run; the caller takes its own).  From the comm's pool. */
choir_status run_create(struct choir_comm *comm, struct run **out_p);

/* run_keep: retains the buffer's cl_mem, if it is one, until the run is discarded; RUN_KEPT buffers at most. */
choir_status run_keep(struct run *run, choir_buffer buffer);

/* run_set_name: for sentences: the caller's name of the call, cut off if it is too long; NULL, or the function's
 * itself: none.  run_caller_name: that, "" = none.  run_name: that, else the function's. */
void run_set_name(struct run *run, const char *name, const char *function);
static inline const char *run_caller_name(const struct run *run)
{
	return run->named ? run->event->name : "";
}
static inline const char *run_name(const struct run *run)
{
	return run->named ? run->event->name : run->function;
}

/* run_set_call: takes from the call its name (else the function's), deadline, key and deps. */
choir_status run_set_call(struct run *run, const choir_call *call, const char *function);

/* run_share_event: the second run's event becomes the first one's, which completes when both have ended; the first
 * failure is its outcome. */
void run_share_event(struct run *first, struct run *second);

/* run_end_script: of a run that is over: keeps its outcome, and ends the script, if it is one.  drives: this thread
 * holds the right to drive. */
void run_end_script(struct run *run, bool drives);

/* run_drop_script: of an unsubmitted run; silent where it has none. */
void run_drop_script(struct run *run);

/* run_discard: an unsubmitted run, or one whose event has completed: frees or pools it. */
void run_discard(struct run *run);

/* --- run.c --- */

/* run_advance: as far as it gets now.  True if anything moved.  The driver only.  Failures end the run: see
 * run->status.  Not of a run that has ended. */
bool run_advance(struct run *run);

/* run_give_lane: the run is over, and with it what it has of its lane and the slots. */
void run_give_lane(struct run *run);

/* run_set_failure: what its event will say. */
void run_set_failure(struct run *run, choir_status status, const char *text);

/* run_fail: ends it with a failure, waiting for what the device still runs; in RUN_WITHDRAW if peers may be in its
 * buffers. */
void run_fail(struct run *run, choir_status status, const char *text);

/* run_fail_as_said: the same, with the thread's last sentence. */
void run_fail_as_said(struct run *run, choir_status status);

/* run_failure_text: its sentence; without memory for that the status' name. */
static inline const char *run_failure_text(const struct run *run)
{
	return run->text != NULL ? run->text : choir_status_name(run->status);
}

/* run_deadline_ns: when its time is over, on the clock of wait_now_ns. */
static inline int64_t run_deadline_ns(const struct run *run)
{
	return wait_end_after(run->watch.started_ns != 0 ? run->watch.started_ns : wait_now_ns(),
	                      run->watch.deadline_ms);
}

/* --- run_peers.c --- */

/* algo_in_without_peers: the input of the plan that replaces one whose peers cannot reach the buffers.  The same on all
 * ranks where that one's is. */
struct algo_in algo_in_without_peers(const struct choir_comm *comm, const struct algo_in *planned);

/* --- run_waits.c --- */

/* run_waits_for: does the run wait for that rank now?  run_lacks_room: for room for a message to it? */
bool run_waits_for(struct run *run, int rank);
bool run_lacks_room(struct run *run, int rank);

#endif
