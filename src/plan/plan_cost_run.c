/* SPDX-License-Identifier: MIT */
/* Design notes.  A discrete-event simulation.  Each rank has one processor, which executes its ready steps one at a
 * time, the lowest number first, as the engine does.  Copies, reductions, publishing and both ends of a message occupy
 * the processor; a receive does once its message has arrived.  An AWAIT and steps of no bytes take no time.  The events
 * are: a processor finishes a step (DONE), a message's first byte reaches the incoming link of a node (HEAD), its last
 * byte has arrived (CAME), the node sees a flag (FLAG).  Events are handled in order of time, so a link serves messages
 * in order of arrival.  Plans that access peers' buffers begin when a flag of each rank of the node has been seen. */
#include "plan/plan_cost_impl.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

enum { DONE, HEAD, CAME, FLAG };

/* Grows *list so that it has room for one more than n items. */
static choir_status make_room(void **list, size_t n, size_t *cap, size_t item_bytes)
{
	size_t more = *cap ? *cap * 2 : 16;
	void *bigger;

	if (n < *cap)
		return CHOIR_SUCCESS;
	bigger = realloc(*list, more * item_bytes);
	if (!bigger)
		return error_no_memory("the steps of a forecast", more * item_bytes);
	*list = bigger;
	*cap = more;
	return CHOIR_SUCCESS;
}

static choir_status ready_put(struct cost_ready *ready, uint32_t step)
{
	size_t cap = ready->cap, at = ready->n;

	TRY(make_room((void **)&ready->list, ready->n, &cap, sizeof *ready->list));
	ready->cap = (uint32_t)cap;
	ready->n++;
	for (; at > 0 && step < ready->list[(at - 1) / 2]; at = (at - 1) / 2)
		ready->list[at] = ready->list[(at - 1) / 2];
	ready->list[at] = step;
	return CHOIR_SUCCESS;
}

static uint32_t ready_take(struct cost_ready *ready)
{
	uint32_t first = ready->list[0], last = ready->list[--ready->n];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < ready->n; at = child) {
		if (child + 1 < ready->n && ready->list[child + 1] < ready->list[child])
			child++;
		if (ready->list[child] >= last)
			break;
		ready->list[at] = ready->list[child];
	}
	ready->list[at] = last;
	return first;
}

/* The rank's processor, if it is idle, begins the next ready step. */
static choir_status go_on(struct plan_cost *cost, int rank)
{
	struct cost_rank *r = &cost->ranks[rank];
	uint32_t step;

	if (r->busy || r->ready.n == 0)
		return CHOIR_SUCCESS;
	step = ready_take(&r->ready);
	r->busy = true;
	return plan_events_put(&cost->events, cost->now_s + r->steps[step].cost_s, DONE, rank, step);
}

static choir_status add_todo(struct plan_cost *cost, int rank, uint32_t step)
{
	TRY(make_room((void **)&cost->todo, cost->n_todo, &cost->cap_todo, sizeof *cost->todo));
	cost->todo[cost->n_todo].rank = rank;
	cost->todo[cost->n_todo++].step = step;
	return CHOIR_SUCCESS;
}

/* Ends a step: steps whose last dep it was are added to todo. */
static choir_status end_step(struct plan_cost *cost, int rank, uint32_t step)
{
	struct cost_rank *r = &cost->ranks[rank];

	r->n_done++;
	r->finish_s = cost->now_s;
	for (uint32_t s = r->steps[step].succ_first; s < r->steps[step + 1].succ_first; s++)
		if (--r->steps[r->succs[s]].left == 0)
			TRY(add_todo(cost, rank, r->succs[s]));
	return CHOIR_SUCCESS;
}

static choir_status wait_for(struct plan_cost *cost, int peer, int rank, uint32_t step)
{
	uint32_t at = cost->free_waiters;

	if (at != NO_WAITER) {
		cost->free_waiters = cost->waiters[at].next;
	} else {
		size_t cap = cost->cap_waiters;

		TRY(make_room((void **)&cost->waiters, cost->n_waiters, &cap, sizeof *cost->waiters));
		cost->cap_waiters = (uint32_t)cap;
		at = cost->n_waiters++;
	}
	cost->waiters[at] = (struct cost_waiter){ .rank = rank,
		                                  .step = step,
		                                  .phase = cost->ranks[rank].steps[step].phase,
		                                  .next = cost->ranks[peer].waiters };
	cost->ranks[peer].waiters = at;
	return CHOIR_SUCCESS;
}

static choir_status begin_await(struct plan_cost *cost, int rank, uint32_t step)
{
	struct cost_step *s = &cost->ranks[rank].steps[step];
	int node = cost->node_of[rank], alone[] = { s->peer };
	const int *peers = s->peer == PLAN_ALL ? cost->node_ranks + cost->node_first[node] : alone;
	int n = s->peer == PLAN_ALL ? cost->node_first[node + 1] - cost->node_first[node] : 1;

	for (int i = 0; i < n; i++) {
		if (cost->ranks[peers[i]].phase >= s->phase)
			continue;
		TRY(wait_for(cost, peers[i], rank, step));
		s->left++;
	}
	return s->left == 0 ? end_step(cost, rank, step) : CHOIR_SUCCESS;
}

static choir_status begin_recv(struct plan_cost *cost, int rank, uint32_t step)
{
	const struct cost_step *s = &cost->ranks[rank].steps[step];
	bool met;

	TRY(plan_match_find(&cost->match, s->peer, rank, s->tag, step, &met, &step));
	return met ? ready_put(&cost->ranks[rank].ready, step) : CHOIR_SUCCESS;
}

/* Begins a step whose deps are all done. */
static choir_status begin(struct plan_cost *cost, int rank, uint32_t step)
{
	struct cost_rank *r = &cost->ranks[rank];
	const struct cost_step *s = &r->steps[step];

	if (s->kind == PLAN_AWAIT)
		return begin_await(cost, rank, step);
	if (s->kind == PLAN_RECV_MSG)
		return begin_recv(cost, rank, step);
	if ((s->kind == PLAN_COPY || s->kind == PLAN_REDUCE) && s->len == 0)
		return end_step(cost, rank, step);
	return ready_put(&r->ready, step);
}

static choir_status begin_all(struct plan_cost *cost)
{
	for (size_t i = 0; i < cost->n_todo; i++)
		TRY(begin(cost, cost->todo[i].rank, cost->todo[i].step));
	for (size_t i = 0; i < cost->n_todo; i++)
		TRY(go_on(cost, cost->todo[i].rank));
	cost->n_todo = 0;
	return CHOIR_SUCCESS;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* The message leaves the sender: it occupies the outgoing link. */
static choir_status depart(struct plan_cost *cost, int rank, uint32_t step)
{
	const struct cost_step *s = &cost->ranks[rank].steps[step];
	bool near = cost->node_of[rank] == cost->node_of[s->peer];
	const struct plan_link *link = near ? &cost->costs.node : &cost->costs.network;
	double *free_s = near ? &cost->ranks[rank].port_free_s : &cost->out_free_s[cost->node_of[rank]];
	double start = later(cost->now_s, *free_s), wire = (double)s->len / link->bytes_per_s;

	*free_s = start + wire;
	cost->messages++;
	if (near)
		return plan_events_put(&cost->events, start + link->latency_s + wire, CAME, rank, step);
	cost->network_messages++;
	cost->network_bytes += s->len;
	return plan_events_put(&cost->events, start + link->latency_s, HEAD, rank, step);
}

static choir_status on_done(struct plan_cost *cost, const struct plan_event *event)
{
	struct cost_rank *r = &cost->ranks[event->rank];
	const struct cost_step *s = &r->steps[event->step];

	r->busy = false;
	if (s->kind == PLAN_SEND_MSG)
		TRY(depart(cost, event->rank, event->step));
	if (s->kind == PLAN_PUBLISH)
		TRY(plan_events_put(&cost->events, cost->now_s + cost->costs.flag_s, FLAG, event->rank, event->step));
	TRY(end_step(cost, event->rank, event->step));
	TRY(begin_all(cost));
	return go_on(cost, event->rank);
}

static choir_status on_head(struct plan_cost *cost, const struct plan_event *event)
{
	const struct cost_step *s = &cost->ranks[event->rank].steps[event->step];
	double *free_s = &cost->in_free_s[cost->node_of[s->peer]];

	*free_s = later(cost->now_s, *free_s) + (double)s->len / cost->costs.network.bytes_per_s;
	return plan_events_put(&cost->events, *free_s, CAME, event->rank, event->step);
}

static choir_status on_came(struct plan_cost *cost, const struct plan_event *event)
{
	const struct cost_step *s = &cost->ranks[event->rank].steps[event->step];
	uint32_t recv;
	bool met;

	TRY(plan_match_find(&cost->match, event->rank, s->peer, s->tag, PLAN_MATCH_ARRIVED, &met, &recv));
	if (!met)
		return CHOIR_SUCCESS;
	TRY(ready_put(&cost->ranks[s->peer].ready, recv));
	return go_on(cost, s->peer);
}

/* The node sees a phase: ranks that await it go on. */
static choir_status on_flag(struct plan_cost *cost, const struct plan_event *event)
{
	struct cost_rank *r = &cost->ranks[event->rank];
	uint32_t *link = &r->waiters;

	r->phase = r->steps[event->step].phase;
	while (*link != NO_WAITER) {
		uint32_t at = *link;
		struct cost_waiter *w = &cost->waiters[at];

		if (w->phase > r->phase) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		w->next = cost->free_waiters;
		cost->free_waiters = at;
		if (--cost->ranks[w->rank].steps[w->step].left == 0)
			TRY(end_step(cost, w->rank, w->step));
	}
	return begin_all(cost);
}

static choir_status begin_ranks(struct plan_cost *cost, bool meeting)
{
	cost->now_s = meeting ? cost->costs.flag_s : 0;
	for (int r = 0; r < cost->n; r++)
		for (uint32_t i = 0; cost->ranks[r].meets == meeting && i < cost->ranks[r].n_steps; i++)
			if (cost->ranks[r].steps[i].left == 0)
				TRY(add_todo(cost, r, i));
	return begin_all(cost);
}

static choir_status check_done(const struct plan_cost *cost)
{
	for (int r = 0; r < cost->n; r++)
		if (cost->ranks[r].n_done < cost->ranks[r].n_steps)
			return error_set(CHOIR_MISMATCH, "rank %d waits for ever: %u of its %u steps are done", r,
			                 cost->ranks[r].n_done, cost->ranks[r].n_steps);
	return CHOIR_SUCCESS;
}

static choir_status (*const handlers[])(struct plan_cost *, const struct plan_event *) = {
	[DONE] = on_done,
	[HEAD] = on_head,
	[CAME] = on_came,
	[FLAG] = on_flag,
};

choir_status plan_cost_run(struct plan_cost *cost, struct plan_forecast *out, double *finish_s)
{
	struct plan_forecast forecast = { .steps = cost->steps };
	struct plan_event event;

	TRY(begin_ranks(cost, false));
	TRY(begin_ranks(cost, true));
	while (plan_events_take(&cost->events, &event)) {
		cost->now_s = event.time_s;
		TRY(handlers[event.what](cost, &event));
	}
	TRY(check_done(cost));
	for (int r = 0; r < cost->n; r++) {
		forecast.seconds = later(forecast.seconds, cost->ranks[r].finish_s);
		if (finish_s)
			finish_s[r] = cost->ranks[r].finish_s;
	}
	if (!isfinite(forecast.seconds))
		return error_set(CHOIR_ARGUMENT, "the costs are too large: the time is no finite number");
	forecast.messages = cost->messages;
	forecast.network_messages = cost->network_messages;
	forecast.network_bytes = cost->network_bytes;
	*out = forecast;
	return CHOIR_SUCCESS;
}
