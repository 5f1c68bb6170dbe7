/* SPDX-License-Identifier: MIT */
/* From a call to a command in its queue; commands without an effect: markers, barriers, migrations. */
#include "model.h"

#include <stdlib.h>

static cl_int take_deps(struct command *command, cl_uint n, const cl_event *list)
{
	if ((n == 0) != (list == NULL))
		return CL_INVALID_EVENT_WAIT_LIST;
	if (n == 0)
		return CL_SUCCESS;
	command->deps = calloc(n, sizeof *command->deps);
	if (command->deps == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < n; i++) {
		struct event *event = event_of(list[i]);

		if (event == NULL)
			return CL_INVALID_EVENT_WAIT_LIST;
		if (event->context != command->queue->context)
			return CL_INVALID_CONTEXT;
		event_retain(event);
		command->deps[command->n_deps++] = event;
	}
	return CL_SUCCESS;
}

cl_int command_begin(cl_command_queue handle, cl_uint n, const cl_event *list, const char *what, struct command **out_p)
{
	struct command *command = calloc(1, sizeof *command);
	cl_int rc = CL_OUT_OF_HOST_MEMORY;

	if (command == NULL)
		return rc;
	command->what = what;
	command->engine = ENGINE_NONE;
	pthread_mutex_lock(&model_lock);
	struct queue *queue = queue_of(handle);
	rc = CL_INVALID_COMMAND_QUEUE;
	if (queue != NULL) {
		command->queue = queue;
		queue->uses++;
		rc = take_deps(command, n, list);
	}
	pthread_mutex_unlock(&model_lock);
	if (rc == CL_SUCCESS)
		*out_p = command;
	else
		command_drop(command);
	return rc;
}

/* For one touch more. */
static bool make_room(struct command *command)
{
	unsigned room = 2 * command->room_touches + 4;
	struct touch *touches = command->touches;

	if (command->n_touches < command->room_touches)
		return true;
	touches = realloc(touches, room * sizeof *touches);
	if (touches == NULL) {
		report("base", "there is no memory for what a %s touches", command->what);
		return false;
	}
	command->touches = touches;
	command->room_touches = room;
	return true;
}

void command_touch(struct command *command, struct memory *root, uintptr_t from, uintptr_t to, bool writes)
{
	if (from >= to || !make_room(command))
		return;
	command->touches[command->n_touches++] = (struct touch){ root, from, to, writes };
	if (root == NULL)
		return;
	memory_use(root);
	if (root->home == NULL)
		root->home = command->queue->device;
}

/* Everything that the command holds, and itself. */
void command_drop(struct command *command)
{
	unsigned n_dead = 0;

	pthread_mutex_lock(&model_lock);
	for (cl_uint i = 0; i < command->n_deps; i++)
		event_unref(command->deps[i]);
	for (unsigned i = 0; i < command->n_touches; i++) {
		struct memory *root = command->touches[i].root;

		if (root != NULL && memory_unuse(root))
			command->touches[n_dead++].root = root; /* at i, or before */
	}
	if (command->event != NULL)
		event_unref(command->event);
	if (command->queue != NULL)
		queue_unuse(command->queue);
	pthread_mutex_unlock(&model_lock);
	for (unsigned i = 0; i < n_dead; i++)
		memory_destroy(command->touches[i].root);
	if (command->launch != NULL)
		launch_free(command->launch);
	free(command->touches);
	free(command->deps);
	free(command);
}

static void append(struct queue *queue, struct command *command)
{
	if (queue->tail != NULL)
		queue->tail->next = command;
	else
		queue->head = command;
	queue->tail = command;
	if (queue->last != NULL)
		event_unref(queue->last);
	queue->last = command->event;
	event_retain(command->event);
}

cl_int command_submit(struct command *command, cl_command_type type, cl_bool blocking, cl_event *event_p)
{
	struct queue *queue = command->queue;
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&model_lock);
	struct event *event = event_create(queue->context, queue, type);
	if (event == NULL) {
		pthread_mutex_unlock(&model_lock);
		command_drop(command);
		return CL_OUT_OF_HOST_MEMORY;
	}
	command->event = event;
	command->index = ++queue->index;
	command->enqueued_ns = now_ns();
	event->times[0] = (cl_ulong)command->enqueued_ns;
	event->clock = host_clock;
	stats.commands++;
	append(queue, command);
	event_retain(event); /* mine, or the caller's */
	if (blocking) {
		blocking_call(command->what);
		engine_rest(event);
		queue_flush(queue);
		if (event_wait(event) < 0)
			rc = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	}
	event->users = event_p != NULL;
	if (event_p != NULL)
		*event_p = (cl_event)event;
	else
		event_unref(event);
	pthread_mutex_unlock(&model_lock);
	return rc;
}

static cl_int nothing(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event_p, const char *what,
                      cl_command_type type)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, what, &command);

	return rc == CL_SUCCESS ? command_submit(command, type, CL_FALSE, event_p) : rc;
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event_p)
{
	return nothing(queue, n, list, event_p, "marker", CL_COMMAND_MARKER);
}

static cl_int CL_API_CALL barrier(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event_p)
{
	return nothing(queue, n, list, event_p, "barrier", CL_COMMAND_BARRIER);
}

static void set_homes(cl_command_queue handle, cl_uint n, const cl_mem *mems)
{
	pthread_mutex_lock(&model_lock);
	const struct queue *queue = queue_of(handle);
	for (cl_uint i = 0; queue != NULL && i < n; i++) {
		struct memory *memory = memory_of(mems[i]);
		size_t off = 0;

		if (memory != NULL)
			memory_root(memory, &off)->home = queue->device;
	}
	pthread_mutex_unlock(&model_lock);
}

/* The model's devices of one context share their memory; copies between them may be slower (model.h). */
static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint n_mems, const cl_mem *mems,
                                  cl_mem_migration_flags how, cl_uint n, const cl_event *list, cl_event *event_p)
{
	if (n_mems == 0 || mems == NULL)
		return CL_INVALID_VALUE;
	if ((how & CL_MIGRATE_MEM_OBJECT_HOST) == 0)
		set_homes(queue, n_mems, mems);
	return nothing(queue, n, list, event_p, "migration", CL_COMMAND_MIGRATE_MEM_OBJECTS);
}

void command_install(struct _cl_icd_dispatch *mine)
{
	mine->clEnqueueMarkerWithWaitList = marker;
	mine->clEnqueueBarrierWithWaitList = barrier;
	mine->clEnqueueMigrateMemObjects = migrate;
}
