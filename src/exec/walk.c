/* SPDX-License-Identifier: MIT */
#include "exec/walk.h"

#include "exec/p2p.h"
#include "exec/peers.h"
#include "exec/relax.h"
#include "exec/run_admit.h"
#include "exec/steps.h"

/* How often what another rank does is looked for before the run goes on in its usual way, which asks for all else too: messages, say. */
enum { WAIT_ROUNDS = 500, MAIL_ROUNDS = 64 };

/* Of longer calls what is left out here is a small part. */
enum { WALK_BYTES = 64 * 1024 };
_Static_assert((int)WALK_BYTES <= ARENA_ITEM_BYTES, "a message of one piece is one item");

static bool is_host_step(const struct run *run, const struct plan_step *step)
{
	switch (step->kind) {
	case PLAN_COPY:
	case PLAN_PUBLISH:
	case PLAN_AWAIT:
		return step->len <= STEP_PIECE_BYTES;
	case PLAN_REDUCE:
		return step->len <= STEP_PIECE_BYTES && !comm_by_kernels(run->comm);
	default:
		return run->bound.pair && run->plan->n_steps == 1;
	}
}

bool walk_fits(const struct run *run)
{
	const struct plan *plan = run->plan;
	bool fits = run->bound.in.bytes <= WALK_BYTES && run->bound.send.direct && run->bound.recv.direct && run->bound.lists == NULL;

	for (uint32_t i = 0; i < plan->n_steps && fits; i++)
		fits = is_host_step(run, &plan->steps[i]);
	return fits;
}

static int rounds_of(const struct run *run, int most)
{
	return run->comm->crowded ? 1 : most;
}

/* Whatever went wrong is seen again by the run. */
static void walk_send(struct run *run)
{
	if (p2p_put(run, run->plan->steps))
		run->state = RUN_ENDED;
}

static void walk_recv(struct run *run)
{
	int rounds = rounds_of(run, MAIL_ROUNDS);
	bool done = false;

	for (int i = 0; i < rounds; i++) {
		if (p2p_take(run, run->plan->steps, &done) != CHOIR_SUCCESS || done)
			break;
		relax();
	}
	if (done)
		run->state = RUN_ENDED;
}

/* Has that rank, or have all, published the phase, and do they call the same?  What else there may be takes longer to find out: steps_reached. */
static bool is_reached(struct run *run, int peer, uint32_t phase)
{
	const struct choir_comm *comm = run->comm;
	int first = peer == PLAN_ALL ? 0 : comm->layout.place_of[peer], end = peer == PLAN_ALL ? comm->node_size : first + 1;

	for (int place = first; place < end; place++) {
		const struct arena_lane *lane = comm_lane(comm, place, run->lane);
		uint64_t flag = atomic_load_explicit(&lane->flag, memory_order_acquire);

		if (flag < ARENA_FLAG(run->seq + 1, phase) || flag >> 24 != run->seq + 1 || lane->call != run->bound.record_hash)
			return false;
	}
	run->met_node |= peer == PLAN_ALL || comm->node_size == 2;
	return true;
}

/* Are all buffers where they were when this plan was met with last? */
static bool is_met(struct run *run, const struct tape *tape)
{
	bool met = tape->plan == run->plan && is_reached(run, PLAN_ALL, 0);

	for (int place = 0; place < run->comm->node_size && met; place++)
		met = peers_are_known(run, place);
	return met;
}

/* True if the buffers of all ranks are where this plan finds them. */
static bool meet(struct run *run, const struct tape *tape)
{
	const struct plan *plan = run->plan;
	int rounds = rounds_of(run, WAIT_ROUNDS);
	bool moved = false;

	for (int i = 0; i < rounds; i++) {
		if (is_met(run, tape))
			return true;
		if (run_meet(run, &moved) != CHOIR_SUCCESS || moved)
			break;
		relax();
	}
	return run->state == RUN_MAP && run->plan == plan;
}

/* Into the lane. */
static bool enter(struct run *run, const struct tape *tape)
{
	bool moved = false;

	run->state = RUN_ADMIT;
	if (run_admit(run, &moved) != CHOIR_SUCCESS || !moved)
		return false;
	return run->state == RUN_MAP || meet(run, tape);
}

/* Note [the next lane].  A flag is raised on a line that the peers read last COMM_LANES calls ago: the store waits until their caches have let go of it, and only then can
 * they begin to fetch it anew.  While this call waits for them anyway the line of the next one is asked for. */
static void ask_for_next_lane(const struct run *run)
{
	struct choir_comm *comm = run->comm;
	const struct arena_lane *lane = comm_lane(comm, comm->place, (run->lane + 1) % COMM_LANES);

	if (comm->over + COMM_LANES <= run->seq + 1) /* may still be looked at */
		return;
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*lane));
#else
	__builtin_prefetch(lane, 1);
#endif
}

/* True once the step is done, or soon after. */
static bool take_step(struct run *run, const struct tape *tape, uint32_t id)
{
	const struct plan_step *step = &run->plan->steps[id];
	int rounds = rounds_of(run, WAIT_ROUNDS);
	bool done = false;

	if (tape_play(tape, run, id))
		return true;
	for (int i = 0; i < rounds; i++) {
		if (step->kind == PLAN_AWAIT && is_reached(run, step->peer, step->tag))
			return true;
		if (steps_try(run, id, &done) != CHOIR_SUCCESS || done || run->disagrees)
			break;
		if (run->unsaid)
			run_say(run);
		relax();
	}
	return done;
}

/* Of longer plans that write what peers read, the time says how to (base/nt.h). */
static bool is_timed(const struct run *run)
{
	const struct plan *plan = run->plan;

	for (uint32_t i = 0; i < plan->n_steps && run->bound.in.bytes >= NT_LEAST_BYTES; i++)
		if (plan->steps[i].dst.buf == PLAN_SLOT || plan->steps[i].dst.buf == PLAN_PEER_RECV || plan->steps[i].n_more > 0)
			return true;
	return false;
}

/* Nothing was mapped. */
static void end(struct run *run)
{
	run->state = RUN_UNMAP;
	if (run_check_ended(run) != CHOIR_SUCCESS)
		return;
	run->state = RUN_ENDED;
	run_leave(run);
}

static void walk_plan(struct run *run, struct tape *tape)
{
	uint32_t n = run->plan->n_steps, i = 0;

	if (!enter(run, tape))
		return;
	run->past = false;
	run->stores_entry = -1;
	if (is_timed(run))
		nt_plan_begin(run);
	tape_ready(tape, run);
	for (; i < n && take_step(run, tape, i); i++)
		if (run->plan->steps[i].kind == PLAN_PUBLISH)
			ask_for_next_lane(run);
	if (i < n) {
		run->state = RUN_STEPS;
		steps_resume(run, i);
		return;
	}
	nt_plan_end(run);
	end(run);
}

void walk(struct run *run)
{
	if (!run->bound.pair)
		walk_plan(run, &run->comm->engine.repeats[EXPRESS_COLLECTIVE].tape);
	else if (run->bound.pair_sends)
		walk_send(run);
	else
		walk_recv(run);
}
