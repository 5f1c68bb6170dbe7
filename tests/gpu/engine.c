/* SPDX-License-Identifier: MIT */
/* Which command starts when, and the engines: threads that move bytes at the end of the modelled time. */
#include "model.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

/* Takes the command out of its queue and ends it.  The next may start when it ended by the model's time. */
static void end_command(struct command *command, cl_int result, int64_t end_ns)
{
	struct queue *queue = command->queue;

	queue->head = command->next;
	if (queue->head == NULL)
		queue->tail = NULL;
	queue->free_ns = end_ns;
	event_end(command->event, result, end_ns);
}

/* May it start?  *result_p < 0: something that it waits for failed. */
static bool is_free(struct command *command, cl_int *result_p)
{
	for (cl_uint i = 0; i < command->n_deps; i++) {
		const struct event *dep = command->deps[i];

		if (!dep->ended)
			return false;
		if (dep->result < 0)
			*result_p = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		if (dep->end_ns > command->ready_ns)
			command->ready_ns = dep->end_ns;
	}
	if (command->queue->free_ns > command->ready_ns)
		command->ready_ns = command->queue->free_ns;
	return true;
}

/* The event that this thread is about to wait for. */
static _Thread_local const struct event *my_event;

void engine_rest(const struct event *event)
{
	my_event = event;
}

/* Commands that are over at once are dropped by whoever holds no lock. */
static struct command *over;

static void give_to_engine(struct command *command)
{
	struct engine *engine = &command->queue->device->engines[command->engine];

	command->next_ready = engine->ready;
	engine->ready = command;
	if (command->event != my_event && !engine->busy)
		pthread_cond_signal(&engine->work);
}

static bool schedule_queue(struct queue *queue)
{
	struct command *command = queue->head;
	cl_int result = CL_COMPLETE;

	if (command == NULL || !command->flushed || command->started || !is_free(command, &result))
		return false;
	command->started = true;
	if (command->engine != ENGINE_NONE && result >= 0) {
		give_to_engine(command);
		return false;
	}
	order_start(command);
	command->event->times[2] = (cl_ulong)command->ready_ns;
	end_command(command, result, command->ready_ns);
	command->next = over;
	over = command;
	/* An engine drops it: its thread holds no lock then. */
	pthread_cond_signal(&queue->device->engines[ENGINE_COMPUTE].work);
	return true;
}

void schedule(void)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (struct queue *queue = queues; queue != NULL; queue = queue->next)
			while (schedule_queue(queue))
				moved = true;
	}
}

/* One of the ready commands, drawn by the seed; NULL: none yet, the next one at *next_ns. */
static struct command *choose(struct engine *engine, int64_t *next_ns)
{
	struct command **chosen = NULL;
	int64_t now = now_ns();
	unsigned n = 0;

	*next_ns = INT64_MAX;
	for (struct command **link = &engine->ready; *link != NULL; link = &(*link)->next_ready) {
		if ((*link)->ready_ns > now)
			*next_ns = (*link)->ready_ns < *next_ns ? (*link)->ready_ns : *next_ns;
		else if (draw_one_in(++n))
			chosen = link;
	}
	if (chosen == NULL)
		return NULL;
	struct command *command = *chosen;
	*chosen = command->next_ready;
	return command;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

enum { SPIN_NS = 100000 }; /* a timer may be so late */

/* looks: at the clock, for the last of the time. */
static void pass_time(int64_t ns, bool looks)
{
	struct timespec until = timespec_of(looks ? ns - SPIN_NS : ns);

	while ((!looks || now_ns() < ns - SPIN_NS) &&
	       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	while (looks && now_ns() < ns)
		;
}

/* The host's bytes must be what they were when the command started. */
static void check_sample(const struct command *command)
{
	if (command_sample(command) != command->sample)
		report("race", "the host changed bytes of a %s while it was under way", command->what);
}

static void carry_out(struct engine *engine, struct command *command, bool looks)
{
	static const double moves_per_ns = 3; /* a guess at how long memcpy takes */
	int64_t start = command->ready_ns > engine->free_ns ? command->ready_ns : engine->free_ns;
	int64_t end = start + (int64_t)command_ns(command), begin = end;
	cl_int result;

	engine->busy = true;
	engine->free_ns = end;
	stats.up_ns += engine->kind == ENGINE_UP ? (uint64_t)(end - start) : 0;
	stats.down_ns += engine->kind == ENGINE_DOWN ? (uint64_t)(end - start) : 0;
	command_count_crossing(command);
	command->start_ns = start;
	command->event->times[2] = (cl_ulong)start;
	order_start(command);
	pthread_mutex_unlock(&model_lock);
	command->sample = command_sample(command);
	pthread_mutex_lock(&model_lock);
	command->event->status = CL_RUNNING; /* who sees it and changes the bytes now is found */
	pthread_mutex_unlock(&model_lock);
	begin -= (int64_t)((double)command->bytes / moves_per_ns);
	if (command->kind == DO_KERNEL)
		begin = start + (int64_t)(options.compute_us * 1000);
	pass_time(begin > start ? begin : start, looks);
	check_sample(command);
	result = command_move(command);
	pass_time(end, looks);
	pthread_mutex_lock(&model_lock);
	if (command->kind == DO_KERNEL && now_ns() > end)
		end = engine->free_ns = now_ns();
	engine->busy = false;
	end_command(command, result, end);
	if (options.trace != 0)
		trace_add(command);
	schedule();
	pthread_mutex_unlock(&model_lock);
	command_drop(command);
	pthread_mutex_lock(&model_lock);
}

/* The copy of that event, if it is the only one that is ready on its engine; else NULL. */
static struct command *only_ready(const struct event *event)
{
	struct command *command = event->queue != NULL ? event->queue->head : NULL;
	const struct engine *engine;

	if (command == NULL || command->event != event || !command->started || command->engine >= ENGINE_COMPUTE)
		return NULL;
	engine = &event->queue->device->engines[command->engine];
	return !engine->busy && engine->ready == command && command->next_ready == NULL && command->ready_ns <= now_ns()
	           ? command
	           : NULL;
}

bool engine_help(const struct event *event)
{
	struct command *command = only_ready(event);
	bool rests = my_event == event;
	struct engine *engine;

	my_event = NULL;
	if (command == NULL) {
		for (int i = 0; rests && i < ENGINES; i++)
			pthread_cond_signal(&event->queue->device->engines[i].work);
		return false;
	}
	engine = &event->queue->device->engines[command->engine];
	engine->ready = NULL;
	carry_out(engine, command, true);
	if (engine->ready != NULL)
		pthread_cond_signal(&engine->work);
	return true;
}

static void *run(void *arg)
{
	struct engine *engine = arg;
	struct sched_param first = { .sched_priority = 50 };

	if (engine->kind != ENGINE_COMPUTE) /* whose work a CPU does at the program's expense */
		(void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &first); /* refused without privileges */
	prctl(PR_SET_TIMERSLACK, 1UL);
	pthread_mutex_lock(&model_lock);
	for (;;) {
		struct command *dead = over, *command;
		struct timespec until;
		int64_t next_ns;

		if (dead != NULL) {
			over = dead->next;
			pthread_mutex_unlock(&model_lock);
			command_drop(dead);
			pthread_mutex_lock(&model_lock);
		} else if (engine->busy) {
			pthread_cond_wait(&engine->work, &model_lock);
		} else if ((command = choose(engine, &next_ns)) != NULL) {
			carry_out(engine, command, false);
		} else if (next_ns != INT64_MAX) {
			until = timespec_of(next_ns);
			pthread_cond_timedwait(&engine->work, &model_lock, &until);
		} else {
			pthread_cond_wait(&engine->work, &model_lock);
		}
	}
	return NULL;
}

void engine_start(struct engine *engine)
{
	pthread_condattr_t attributes;
	pthread_t thread;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&engine->work, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&thread, NULL, run, engine) == 0)
		pthread_detach(thread);
}
