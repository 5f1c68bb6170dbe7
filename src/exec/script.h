/* SPDX-License-Identifier: MIT */
/* A script: a collective whose sizes are learnt on the way.  The engine asks it again and again what to do next; it
 * answers with constant plans, built from numbers that all ranks have gathered, so all ranks take the same turns.
 * Kernels and host work of higher rooms happen between plans. */
#ifndef EXEC_SCRIPT_H
#define EXEC_SCRIPT_H

#include "algo/algo.h"
#include "algo/choice_memory.h"
#include "algo/link_costs.h"
#include "base/kept_error.h"
#include "base/nt.h"
#include "dev/dev.h"
#include "exec/plan_cache.h"

enum script_what {
	SCRIPT_PLAN, /* run turn.plan on turn.send and turn.recv, then ask again */
	/* something of mine is running on the device (watched with dev_watch / polled): ask again later */
	SCRIPT_AGAIN,
	/* a job: call turn.job(state) without the right to drive, then ask again; other calls of the comm go on */
	SCRIPT_CALLBACK, /* a callback of the caller's */
	SCRIPT_WORK, /* long work of the script's own; it waits for nobody, and the run does not end before it does */
	SCRIPT_DONE, /* the collective is over */
};

struct script_turn {
	enum script_what what;
	struct plan *plan; /* finished; the script's, valid until it is asked again */
	/* host memory of the script's (see script_host), or the caller's, which is mapped for the plan where needed */
	struct dev_access send, recv;
	void (*job)(void *state); /* of CALLBACK and WORK; the script keeps the outcome (struct kept_error) */
	/* with an error: the failure of this rank's event alone; the comm goes on */
	bool failure_is_local;
	bool by_user; /* functions of the caller's may have run, and may have failed the comm */
};

/* Access to host memory of the library's own. */
static inline struct dev_access script_host(void *ptr, uint64_t bytes)
{
	return (struct dev_access){ .ptr = ptr, .bytes = bytes, .direct = true, .write = true };
}

/* script_take_plan: plan_cache_get into *cached, whose plan so far is released.  A script looks its plans up in each
 * call and holds no prepared call, since it learns the sizes of its plans anew in each call. */
static inline choir_status script_take_plan(struct plan_cache *plans, const struct algorithm *algorithm,
                                            const struct algo_in *in, struct cached_plan **cached)
{
	cached_plan_release(*cached);
	*cached = NULL;
	return plan_cache_get(plans, algorithm, in, cached);
}

struct script_ops {
	/* Fills *turn.  Called by one thread at a time; must not wait for peers.  An error ends the collective (see
	 * failure_is_local). */
	choir_status (*next)(void *state, struct script_turn *turn);
	/* After the last turn, or instead of it when the comm failed.  The device may still run what next started: wait
	 * for it here. */
	void (*destroy)(void *state);
};

/* Facts about the comm that a script runs on. */
struct script_env {
	const struct layout *layout;
	int me;
	choir_device *device;
	uint64_t slot_bytes, message_bytes;
	uint64_t device_bytes, command_bytes, core_cache_bytes; /* as in algo_in */
	unsigned peer_percent;                                  /* too */
	bool far_memory;                                        /* too */
	struct plan_cache *plans;            /* the comm's, for script_take_plan; NULL = every plan is built */
	void (*wake)(void *unused);          /* wakes this process's waiting threads; for dev_watch, from any thread */
	const struct link_costs *costs;      /* of the rules; NULL = the built-in ones */
	struct choice_memory *choice_memory; /* the comm's, for scripts that next runs; NULL = none */
	bool order_ranks;                    /* reductions are folded in rank order */
	struct nt_choice nt;                 /* how to write what peers read where it lies */
};

/* script_env_of: of that comm.  Its choice_memory and nt belong to the driver.  In run_script.c. */
struct choir_comm;
struct script_env script_env_of(struct choir_comm *comm);

#endif
