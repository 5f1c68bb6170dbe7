/* SPDX-License-Identifier: MIT */
/* The split: each rank's selected pairs go to the owners of their regions, who add them in rank order.  f 2k words
 * received, f = (P-1)/P; any P.
 * Design notes: at step j = 1 .. P-1 a rank sends to the rank j after it and takes from the rank j before it, so no
 * rank is swamped; sends_in_flight steps are a plan.  While a plan runs the worker adds the lists that have come, up to
 * the first rank whose list has not: the order is that of the ranks, whatever comes first.  While it is busy run->held,
 * the lists that it adds and split->added are the worker's. */
#include "topk/algorithm.h"
#include "topk/wire.h"

#include "base/float_control.h"
#include "exec/worker.h"
#include "sparse/block.h"

enum {
	WORKER_PAIRS = 8192, /* fewer are added at once */
	MOST_PLANS = 100,    /* of a split; a script may have 255 */
};

static choir_status meet(struct topk_run *run, struct script_turn *turn);

/* The step at which rank d takes from rank s. */
static int step_of(const struct topk_run *run, int s, int d)
{
	int n = run->env.layout->n;

	return (d - s + n) % n;
}

static bool has_come(const struct topk_run *run, int s)
{
	return step_of(run, s, run->env.me) <= run->split.met;
}

/* Steps of a plan. */
static int width(const struct topk_run *run)
{
	uint64_t steps = (uint64_t)run->env.layout->n - 1, wanted = run->state->settings.sends_in_flight,
		 least = (steps + MOST_PLANS - 1) / MOST_PLANS;

	wanted = wanted > least ? wanted : least;
	return (int)(wanted < steps ? wanted : steps);
}

static uint64_t part_bytes(const struct topk_run *run, int s, int d)
{
	return block_bytes(run->types.form, run->matrix[s * run->env.layout->n + d], run->types.wire_bytes);
}

/* The lists of ranks [*from_p, end) as they are added; the sum so far is the first.  My own list did not travel. */
static choir_status make_ready(struct topk_run *run, int end, int *from_p)
{
	int from = run->split.added, me = run->env.me;
	struct pairs mine = run->lists[me];

	run->lists[me].count = 0;
	TRY(topk_widen(run, &run->lists[from], end - from));
	run->lists[me] = mine;
	if (from > 0)
		run->lists[--from] = list_pairs(&run->held, &run->types);
	*from_p = from;
	return CHOIR_SUCCESS;
}

/* run->held = the sum of the lists of ranks [0, end). */
static choir_status add_lists(struct topk_run *run, int end)
{
	int from;

	TRY(make_ready(run, end, &from));
	TRY(list_merge(&run->total, &run->types, &run->lists[from], (uint32_t)(end - from)));
	topk_hold_sum(run);
	run->split.added = end;
	return CHOIR_SUCCESS;
}

void topk_split_add(void *arg)
{
	struct topk_run *run = arg;
	struct topk_split *split = &run->split;
	uint64_t control = float_control_begin();

	error_keep(&split->outcome, add_lists(run, split->adding));
	float_control_end(control);
	pthread_mutex_lock(&split->lock); /* the run stays until this is released */
	split->busy = false;
	run->env.wake(NULL);
	pthread_cond_signal(&split->idle);
	pthread_mutex_unlock(&split->lock);
}

/* False: the worker adds already, or has. */
static bool take_back(struct topk_run *run)
{
	if (!worker_withdraw(WORKER_JOBS, topk_split_add, run))
		return false;
	run->split.busy = run->split.waits = false;
	return true;
}

static choir_status add(struct topk_run *run, int end)
{
	struct topk_split *split = &run->split;
	uint64_t pairs = 0;

	for (int s = split->added; s < end; s++)
		pairs += run->lists[s].count;
	split->adding = end;
	split->busy = pairs >= WORKER_PAIRS;
	if (split->busy && worker_take(WORKER_JOBS, topk_split_add, run))
		return CHOIR_SUCCESS;
	split->busy = false;
	return add_lists(run, end);
}

static choir_status added_all(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	topk_hold_sum(run);
	run->step = run->after_split;
	return CHOIR_SUCCESS;
}

static choir_status add_all(struct topk_run *run, struct script_turn *turn)
{
	int from, n = run->env.layout->n;

	(void)turn;
	TRY(make_ready(run, n, &from));
	return run->on->merge(run, &run->total, &run->lists[from], (uint32_t)(n - from), added_all);
}

/* Is it the device that adds?  All lists at once, when all have come. */
static bool device_adds(const struct topk_run *run)
{
	uint32_t n = (uint32_t)run->env.layout->n;
	uint64_t pairs = 0;

	for (uint32_t s = 0; s < n; s++)
		pairs += run->matrix[s * n + (uint32_t)run->env.me];
	return far_merge_pays(run, &run->total, pairs, n);
}

static choir_status add_what_came(struct topk_run *run, struct script_turn *turn);

static choir_status add_here(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	run->step = add_what_came;
	return add_lists(run, run->split.adding);
}

/* The lists before the first one that has not come. */
static choir_status add_what_came(struct topk_run *run, struct script_turn *turn)
{
	struct topk_split *split = &run->split;
	int n = run->env.layout->n, end;

	pthread_mutex_lock(&split->lock);
	split->waits = split->busy;
	pthread_mutex_unlock(&split->lock);
	if (split->waits && take_back(run)) { /* the worker is at other comms' jobs */
		run->step = add_here;
		return CHOIR_SUCCESS;
	}
	if (split->waits) {
		turn->what = SCRIPT_AGAIN;
		return CHOIR_SUCCESS;
	}
	TRY(error_again(&split->outcome));
	end = split->added; /* the worker's until here */
	while (end < n && has_come(run, end))
		end++;
	run->step = split->met == n - 1 ? add_all : meet;
	/* one list has nothing to be added to */
	if (split->met == n - 1 || end <= split->added || end < 2 || device_adds(run))
		return CHOIR_SUCCESS;
	return add(run, end);
}

/* Notes the lists that a plan brought, one of each of its ranks, which lie one after the other. */
static choir_status came(struct topk_run *run, struct script_turn *turn)
{
	struct topk_split *split = &run->split;
	int n = run->env.layout->n, me = run->env.me, first = split->met;

	(void)turn;
	split->met = first + width(run) < n - 1 ? first + width(run) : n - 1;
	for (int s = 0; s < n; s++) {
		uint64_t count = run->matrix[s * n + me];

		if (s == me || step_of(run, s, me) <= first || !has_come(run, s))
			continue;
		run->lists[s] = block_pairs((unsigned char *)run->in.ptr + split->in_bytes, run->types.form, count);
		split->in_bytes += part_bytes(run, s, me);
		run->stats.pairs_received += count;
	}
	run->step = add_what_came;
	split->waits = true; /* a look at the worker takes no time */
	return CHOIR_SUCCESS;
}

/* The next steps. */
static choir_status meet(struct topk_run *run, struct script_turn *turn)
{
	int n = run->env.layout->n, me = run->env.me, first = run->split.met, last = first + width(run);
	uint64_t send = 0, recv = 0;
	unsigned char *at;

	for (int s = 0; s < n; s++)
		for (int d = 0; d < n; d++) {
			bool meets = step_of(run, s, d) > first && step_of(run, s, d) <= last;
			uint64_t bytes = run->block_bytes[s * n + d] = meets ? part_bytes(run, s, d) : 0;

			send += s == me ? bytes : 0;
			recv += d == me ? bytes : 0;
		}
	pool_give(&run->out);
	TRY(pool_take(&run->out, send, "pairs to send"));
	at = run->out.ptr;
	for (int d = 0; d < n; d++)
		if (run->block_bytes[me * n + d] > 0) {
			wire_write_block(&run->types, at, &run->parts[d]);
			at += run->block_bytes[me * n + d];
		}
	return topk_alltoallv(run, turn, send, (unsigned char *)run->in.ptr + run->split.in_bytes, recv, came);
}

choir_status topk_split_start(struct topk_run *run)
{
	struct topk_split *split = &run->split;
	int n = run->env.layout->n, me = run->env.me;
	uint64_t bytes = 0;

	split->met = split->added = 0;
	split->in_bytes = 0;
	split->outcome.status = CHOIR_SUCCESS;
	run->lists[me] = run->parts[me];
	for (int s = 0; s < n; s++)
		bytes += s != me ? part_bytes(run, s, me) : 0;
	pool_give(&run->in);
	TRY(pool_take(&run->in, bytes, "pairs of other ranks"));
	list_free(&run->held);
	run->step = n > 1 ? meet : add_all;
	return CHOIR_SUCCESS;
}

void topk_split_init(struct topk_run *run)
{
	pthread_mutex_init(&run->split.lock, NULL);
	pthread_cond_init(&run->split.idle, NULL);
}

void topk_split_fini(struct topk_run *run)
{
	(void)take_back(run);
	pthread_mutex_lock(&run->split.lock);
	while (run->split.busy)
		pthread_cond_wait(&run->split.idle, &run->split.lock);
	pthread_mutex_unlock(&run->split.lock);
	pthread_cond_destroy(&run->split.idle);
	pthread_mutex_destroy(&run->split.lock);
}
