/* SPDX-License-Identifier: MIT */
/* Design notes.  A step is ready once its deps are done; ready steps start in plan order.  Host steps (copies and
 * reductions between memory the host reaches) are done on the spot, in pieces (host_step.c); steps that need a peer or
 * the device (stage_step.c, kernel_step.c, device_step.c) are started and then polled from the `waiting` list.
 * Everything here runs under the engine's right to drive, so the board (board.c) needs no lock. */
#include "exec/steps.h"

#include "exec/board.h"
#include "exec/device_memory.h"
#include "exec/gone.h"
#include "exec/lane.h"
#include "exec/operand.h"
#include "exec/p2p.h"
#include "exec/record.h"
#include "exec/shadow.h"
#include "exec/slot_ring.h"

#include <stdlib.h>
#include <string.h>

typedef choir_status (*step_fn)(struct run *run, uint32_t id, bool *done);

static uint32_t tag_of(const struct run *run, uint32_t tag)
{
	return run->plan_index << 24 | tag;
}

static choir_status start_copy(struct run *run, uint32_t id, bool *done)
{
	const struct plan_step *step = &run->plan->steps[id];

	if (step->len == 0) {
		*done = true;
		return CHOIR_SUCCESS;
	}
	if (run->plan->device)
		return steps_device_copy(run, step, &run->board.events[id]);
	if (steps_is_staged(run, step))
		return steps_stage_copy(run, step, &run->board.events[id], done);
	return steps_host_copy(run, step, done);
}

static choir_status start_reduce(struct run *run, uint32_t id, bool *done)
{
	const struct plan_step *step = &run->plan->steps[id];

	if (step->len == 0) {
		*done = true;
		return CHOIR_SUCCESS;
	}
	if (run->plan->device)
		return steps_reduce_by(run, step, steps_device_reduce, &run->board.events[id]);
	if (run->bound.by_kernels || steps_reduces_on_device(run, step))
		return steps_reduce_by(run, step, steps_kernel_reduce, &run->board.events[id]);
	return steps_host_reduce(run, step, done);
}

static choir_status send_message(struct run *run, const struct plan_step *step)
{
	struct choir_comm *comm = run->comm;
	struct wire_header header = {
		.kind = WIRE_DATA,
		.key = run->number,
		.tag = tag_of(run, step->tag),
		.bytes_check = (uint32_t)step->len,
		.record = run->bound.record,
	};

	TRY(comm_send(comm, step->peer, &header,
	              step->len > 0 ? operand_at(run, run->plan->refs[step->src_first]) : NULL, step->len));
	if (!comm_is_near(comm, step->peer))
		atomic_fetch_add_explicit(&run->event->wire_bytes, step->len + sizeof header, memory_order_relaxed);
	return CHOIR_SUCCESS;
}

static choir_status start_send(struct run *run, uint32_t id, bool *done)
{
	const struct plan_step *step = &run->plan->steps[id];

	if (run->comm->engine.any_dead && gone_is_dead(run->comm, step->peer))
		return gone_dead_error(run, step->peer, "dead"); /* a rank that only sends would never know */
	*done = p2p_put(run, step);
	if (*done || !comm_has_room(run->comm, step->peer))
		return CHOIR_SUCCESS; /* tried again until there is: Note [room] in net/sends.h */
	*done = true;
	return send_message(run, step);
}

static choir_status poll_recv(struct run *run, uint32_t id, bool *done)
{
	const struct plan_step *step = &run->plan->steps[id];
	struct message *message;
	choir_status st = CHOIR_SUCCESS;

	TRY(p2p_take(run, step, done));
	if (*done || (message = inbox_take(&run->comm->inbox, run->number, step->peer, tag_of(run, step->tag))) == NULL)
		return CHOIR_SUCCESS;
	if (memcmp(&message->header.record, &run->bound.record, sizeof run->bound.record) != 0)
		st = run_mismatch(run, step->peer, &message->header.record);
	else if (message->payload_bytes != step->len)
		st = error_set(CHOIR_TRANSPORT,
		               "%s: rank %d got a message of %zu bytes from rank %d where %llu were due (%s)",
		               run->comm->name, run->comm->rank, message->payload_bytes, step->peer,
		               (unsigned long long)step->len, step->label);
	else if (step->len > 0)
		memcpy(operand_at(run, step->dst), message_payload(message), step->len);
	message_give(message);
	*done = st == CHOIR_SUCCESS;
	return st;
}

static choir_status start_publish(struct run *run, uint32_t id, bool *done)
{
	const struct plan_step *step = &run->plan->steps[id];
	struct arena_lane *lane = comm_lane(run->comm, run->comm->local_rank, run->lane);

	if (run->publish_carries_bytes)
		memcpy(lane->bytes, run->lane_bytes, sizeof lane->bytes);
	lane_publish(run, arena_point(run->plan_index, step->phase));
	comm_wake_step(run->comm);
	*done = true;
	return CHOIR_SUCCESS;
}

choir_status steps_reached(struct run *run, int local_rank, uint32_t phase, bool *yes)
{
	struct lane_view view = lane_look(run, local_rank, phase);

	*yes = view.reached;
	if (!view.is_here || view.same_call)
		return CHOIR_SUCCESS;
	*yes &= run_is_script(run); /* else this plan is not the others' */
	return run_compare(run, local_rank);
}

static choir_status poll_await(struct run *run, uint32_t id, bool *done)
{
	const struct plan_step *step = &run->plan->steps[id];
	struct choir_comm *comm = run->comm;
	bool yes = true;

	if (step->peer != PLAN_ALL) {
		TRY(steps_reached(run, comm->layout.local_rank_of[step->peer], step->phase, &yes));
		run->records_compared |= yes && comm->node_size == 2;
	} else {
		/* mine too: steps that depend on this one may rely on it instead of on my PUBLISH */
		for (int local_rank = 0; local_rank < comm->node_size && yes; local_rank++)
			TRY(steps_reached(run, local_rank, step->phase, &yes));
		run->records_compared |= yes;
	}
	*done = yes;
	return CHOIR_SUCCESS;
}

static choir_status poll_device(struct run *run, uint32_t id, bool *done)
{
	cl_event *event = &run->board.events[id];

	if (*event == NULL)
		return CHOIR_SUCCESS; /* a host step between pieces */
	TRY(dev_poll(*event, done));
	if (*done) {
		clReleaseEvent(*event);
		*event = NULL;
	}
	return CHOIR_SUCCESS;
}

/* start: called once (host steps: once a piece); poll: until done.  poll NULL = start says whether it is done. */
static const struct step_kind {
	step_fn start, poll;
} kinds[] = {
	[PLAN_COPY] = { start_copy, poll_device },    [PLAN_REDUCE] = { start_reduce, poll_device },
	[PLAN_SEND_MSG] = { start_send, start_send }, [PLAN_RECV_MSG] = { poll_recv, poll_recv },
	[PLAN_PUBLISH] = { start_publish, NULL },     [PLAN_AWAIT] = { poll_await, poll_await },
};

choir_status steps_make_room(struct run *run)
{
	uint64_t bytes = run->plan->scratch_bytes + shadow_bytes(run);

	TRY(board_take(run));
	if (run->plan->device || bytes <= run->host_scratch.bytes)
		return CHOIR_SUCCESS;
	dev_memory_free(run->comm->device, &run->host_scratch);
	return dev_memory_create(run->comm->device, bytes, &run->host_scratch);
}

choir_status steps_begin(struct run *run)
{
	TRY(slot_ring_allocate(run)); /* of a script's plan, or another one than entered the lane */
	TRY(steps_make_room(run));
	board_fill(run, 0);
	nt_plan_begin(run);
	return CHOIR_SUCCESS;
}

choir_status steps_try(struct run *run, uint32_t id, bool *done)
{
	run->board.bytes_done = 0;
	return kinds[run->plan->steps[id].kind].start(run, id, done);
}

/* Note [queue order].  The copies and kernels of a plan on the device go to one in-order queue.  One that depends on
 * another so waits until that one has started, not until it is over: the host has no part in what lies between. */
static bool is_command(const struct run *run, uint32_t id)
{
	const struct plan_step *step = &run->plan->steps[id];

	return run->plan->device && (step->kind == PLAN_COPY || step->kind == PLAN_REDUCE) && step->len > 0;
}

/* started: the step has been enqueued, for the steps behind it in the queue; else it is done, for the others. */
static void release_next(struct run *run, uint32_t id, bool started)
{
	const struct plan *plan = run->plan;
	struct step_board *board = &run->board;
	bool command = is_command(run, id);

	for (uint32_t i = plan->succ_first[id]; i < plan->succ_first[id + 1]; i++) {
		uint32_t next = plan->succs[i];

		if ((command && is_command(run, next)) == started && --board->pending[next] == 0)
			board->ready[board->ready_tail++] = next;
	}
}

static void finish(struct run *run, uint32_t id)
{
	run->board.n_done++;
	release_next(run, id, false);
}

/* Starts the step at the queue's head; a host step between two pieces stays there. */
static choir_status start_next(struct run *run)
{
	struct step_board *board = &run->board;
	uint32_t id = board->ready[board->ready_head];
	bool done = false;

	TRY(kinds[run->plan->steps[id].kind].start(run, id, &done));
	if (!done && board->bytes_done > 0)
		return CHOIR_SUCCESS;
	board->ready_head++;
	board->bytes_done = 0;
	if (done) {
		finish(run, id);
		return CHOIR_SUCCESS;
	}
	board->waiting[board->n_waiting++] = id;
	if (run->plan->device)
		release_next(run, id, true);
	return CHOIR_SUCCESS;
}

/* Of the commands of an in-order queue only the first that is under way can be over: the others are not looked at. */
static choir_status poll_waiting(struct run *run, bool *moved)
{
	struct step_board *board = &run->board;
	uint32_t kept = 0, watched = 0;
	bool busy[STEP_QUEUES] = { false };

	for (uint32_t i = 0; i < board->n_waiting; i++) {
		uint32_t id = board->waiting[i];
		enum step_queue queue = steps_queue_of(run, id);
		bool done = false;

		if (!busy[queue])
			TRY(kinds[run->plan->steps[id].kind].poll(run, id, &done));
		if (done) {
			finish(run, id);
			continue;
		}
		busy[queue] = queue != STEP_QUEUE_NONE;
		board->waiting[kept++] = id;
		watched += i < board->n_watched;
	}
	*moved |= kept < board->n_waiting;
	board->n_waiting = kept;
	board->n_watched = watched;
	return CHOIR_SUCCESS;
}

/* Nor is a call about to be. */
static bool nothing_else_in_flight(const struct run *run)
{
	for (const struct run *other = run->comm->engine.flight.all; other != NULL; other = other->next)
		if (other->event != run->event)
			return false;
	return !atomic_load_explicit(&run->comm->submission.has_incoming, memory_order_relaxed);
}

/* After STEP_PIECE_BYTES of messages others have their turn.  A sendrecv alone in flight goes on for as much as a ring
 * holds: by shorter turns it would write beside what its peer reads at that moment. */
static bool messages_pause(const struct run *run, uint64_t bytes)
{
	return bytes >= STEP_PIECE_BYTES &&
	       (!run->bound.pair || bytes >= arena_ring_bytes(run->comm->arena) || !nothing_else_in_flight(run));
}

/* A long message is many steps, each of which the next may follow at once. */
static uint64_t message_bytes(const struct run *run, uint32_t id)
{
	const struct plan_step *step = &run->plan->steps[id];

	return step->kind == PLAN_SEND_MSG || step->kind == PLAN_RECV_MSG ? step->len : 0;
}

choir_status steps_advance(struct run *run, bool *moved, bool *done)
{
	struct step_board *board = &run->board;
	uint64_t messages = 0; /* their bytes */

	board->paused = false;
	TRY(poll_waiting(run, moved));
	while (board->ready_head < board->ready_tail && !board->paused) {
		messages += message_bytes(run, board->ready[board->ready_head]);
		*moved = true;
		TRY(start_next(run));
		board->paused = board->bytes_done > 0 || messages_pause(run, messages);
	}
	*done = board->n_done == run->plan->n_steps;
	board->paused &= !*done;
	return CHOIR_SUCCESS;
}

void steps_free(struct run *run)
{
	free(run->board.events);
	free(run->peers);
	run->peers = NULL;
	dev_memory_free(run->comm->device, &run->host_scratch);
	device_memory_free(run);
	memset(&run->board, 0, sizeof run->board);
}
