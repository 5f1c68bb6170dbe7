/* SPDX-License-Identifier: MIT */
#include "exec/flight.h"

#include <limits.h>
#include <stdlib.h>

enum { PAIR_ELIGIBLE = 16, TAGGED_ELIGIBLE = 256, ALONE_ELIGIBLE = 256 };

choir_status flight_init(struct flight *flight, int n_ranks)
{
	flight->all_end = &flight->all;
	flight->eligible_end = &flight->eligible;
	flight->n_queues = QUEUE_PAIRS + 2 * (size_t)n_ranks;
	flight->queues = calloc(flight->n_queues, sizeof *flight->queues);
	if (flight->queues == NULL)
		return error_no_memory("queues of calls", flight->n_queues * sizeof *flight->queues);
	return CHOIR_SUCCESS;
}

void flight_fini(struct flight *flight)
{
	free(flight->queues);
}

static struct run_queue *queue_of(struct flight *flight, const struct run *run)
{
	if (run->bound.single_rank)
		return &flight->queues[QUEUE_ALONE];
	if (!run->bound.pair)
		return &flight->queues[QUEUE_COLLECTIVES];
	if (tagged_tag(run->bound.pair_key) != 0)
		return &flight->queues[run->bound.pair_sends ? QUEUE_TAGGED_SENDS : QUEUE_TAGGED_RECVS];
	return &flight->queues[QUEUE_PAIRS + 2 * (size_t)run->bound.pair_peer + run->bound.pair_sends];
}

static void append_eligible(struct flight *flight, struct run *run)
{
	run->next_eligible = NULL;
	*flight->eligible_end = run;
	flight->eligible_end = &run->next_eligible;
}

/* The next runs of the queue become eligible, until `most` of the queue are. */
static void make_eligible(struct flight *flight, struct run_queue *queue, int most)
{
	for (; queue->first != NULL && queue->n_eligible < most; queue->n_eligible++) {
		struct run *run = queue->first;

		queue->first = run->next_eligible;
		append_eligible(flight, run);
		run_prefetch(queue->first);
	}
}

static void make_next_eligible(struct flight *flight, struct run_queue *queue)
{
	static const int most[] = { [QUEUE_COLLECTIVES] = COMM_LANES,
		                    [QUEUE_TAGGED_RECVS] = TAGGED_ELIGIBLE,
		                    [QUEUE_TAGGED_SENDS] = TAGGED_ELIGIBLE,
		                    [QUEUE_ALONE] = ALONE_ELIGIBLE,
		                    [QUEUE_PAIRS] = PAIR_ELIGIBLE };
	size_t number = (size_t)(queue - flight->queues);

	make_eligible(flight, queue, most[number < QUEUE_PAIRS ? number : QUEUE_PAIRS]);
}

void flight_add(struct flight *flight, struct run *run)
{
	struct run_queue *queue = queue_of(flight, run);

	run->next = run->next_eligible = NULL;
	run->link = flight->all_end;
	*flight->all_end = run;
	flight->all_end = &run->next;
	if (flight->may_be_in_deps == NULL)
		flight->may_be_in_deps = run;
	if (queue->first == NULL)
		queue->first = run;
	else
		queue->last->next_eligible = run;
	queue->last = run;
	make_next_eligible(flight, queue);
}

void flight_make_all_eligible(struct flight *flight)
{
	for (size_t i = 0; i < flight->n_queues; i++)
		make_eligible(flight, &flight->queues[i], INT_MAX);
}

/* Advances a queued run.  True: it is to be advanced by every drive from now on.  The script of a call of this rank
 * only waits for the call's deps: it moves when they are complete. */
static bool has_more_to_do(struct run *run, bool (*advance)(struct run *run))
{
	bool asked = run->state != RUN_DEPS, moved = advance(run);

	return run->state == RUN_ENDED || run->board.paused ||
	       (run->bound.single_rank && (run->state == RUN_JOB || (moved && asked)));
}

void flight_advance_queued(struct flight *flight, size_t number, bool (*advance)(struct run *run))
{
	struct run_queue *queue = &flight->queues[number];
	struct run **link = &queue->first;

	queue->last = NULL;
	while (*link != NULL) {
		struct run *run = *link;

		if (!has_more_to_do(run, advance)) {
			queue->last = run;
			link = &run->next_eligible;
			continue;
		}
		*link = run->next_eligible;
		append_eligible(flight, run);
		queue->n_eligible++;
	}
}

struct run *flight_next_to_check(struct flight *flight, struct run *checked)
{
	struct run *next = checked == NULL ? flight->to_check : checked->next;

	if (checked == NULL && next == NULL)
		next = flight->all;
	flight->to_check = next;
	return next;
}

struct run *flight_find_job(const struct flight *flight)
{
	for (struct run *run = flight->eligible; run != NULL; run = run->next_eligible)
		if (run->state == RUN_JOB && run->script.job != NULL)
			return run;
	return NULL;
}

/* The next part of its call, if one is left, stands for the event. */
static void leave_event(const struct run *run)
{
	choir_event *event = run->event;

	if (event->run == run)
		event->run = run->next != NULL && run->next->event == event ? run->next : NULL;
}

static void take_out(struct flight *flight, struct run *run)
{
	*run->link = run->next;
	if (flight->to_check == run)
		flight->to_check = run->next;
	if (flight->may_be_in_deps == run)
		flight->may_be_in_deps = run->next;
	leave_event(run);
	if (run->next != NULL)
		run->next->link = run->link;
	else
		flight->all_end = run->link;
	run->next = NULL;
}

struct run *flight_take_ended(struct flight *flight)
{
	struct run *ended = NULL, **tail = &ended;

	for (struct run **at = &flight->eligible; *at != NULL;) {
		struct run *run = *at;
		struct run_queue *queue;

		if (run->state != RUN_ENDED) {
			at = &run->next_eligible;
			continue;
		}
		queue = queue_of(flight, run);
		*at = run->next_eligible;
		if (*at == NULL)
			flight->eligible_end = at;
		queue->n_eligible--;
		make_next_eligible(flight, queue);
		take_out(flight, run);
		*tail = run;
		tail = &run->next;
	}
	return ended;
}

bool flight_uses_messages(const struct flight *flight)
{
	for (const struct run *run = flight->eligible; run != NULL; run = run->next_eligible)
		if (run->plan != NULL && run->plan->messages)
			return true;
	return flight->all == NULL;
}
