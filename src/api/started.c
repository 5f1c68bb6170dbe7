/* SPDX-License-Identifier: MIT */
#include "api/started.h"

#include "exec/event.h"
#include "base/fork.h"
#include "base/thread_start.h"
#include "node/bell.h"

#include <stdlib.h>
#include <string.h>

struct under_way {
	struct started_call started;
	choir_event *event; /* a reference */
};

static void *make(void *arg)
{
	struct under_way *call = arg;
	choir_status st = call->started.run(call->started.args);

	event_complete(call->event, st, st == CHOIR_SUCCESS ? NULL : error_text());
	bell_ring_mine(); /* whoever waits for the event */
	call->started.drop(call->started.args);
	choir_event_release(call->event);
	free(call);
	return NULL;
}

static choir_status start_thread(const char *name, struct under_way *call)
{
	if (thread_start_detached(make, call) != 0)
		return error_set(CHOIR_NO_MEMORY, "%s: no thread for it", name);
	return CHOIR_SUCCESS;
}

choir_status started_begin(const struct started_call *started, choir_event **event_p)
{
	struct under_way *call = calloc(1, sizeof *call);
	choir_event *event = NULL;
	choir_status st;

	if (call == NULL) {
		started->drop(started->args);
		return error_no_memory("a call", sizeof *call);
	}
	call->started = *started;
	st = event_create(started->comm, &call->event);
	if (st == CHOIR_SUCCESS) {
		event = choir_event_retain(call->event);
		st = start_thread(started->call, call);
	}
	if (st != CHOIR_SUCCESS) {
		choir_event_release(event);
		choir_event_release(call->event);
		free(call);
		started->drop(started->args);
		return st;
	}
	*event_p = event;
	return CHOIR_SUCCESS;
}

choir_status started_shell(choir_device *device, choir_comm **out_p)
{
	struct choir_comm *shell = calloc(1, sizeof *shell);

	if (shell == NULL)
		return error_no_memory("a comm", sizeof *shell);
	fork_watch();
	shell->generation = fork_generation();
	shell->device = dev_retain(device);
	atomic_init(&shell->uses.refs, 1);
	atomic_init(&shell->engine.closed, true);
	*out_p = shell;
	return CHOIR_SUCCESS;
}

static choir_status copy_text(const char **text, char **copy)
{
	if (*text == NULL)
		return CHOIR_SUCCESS;
	*copy = strdup(*text);
	if (*copy == NULL)
		return error_no_memory("a config", strlen(*text) + 1);
	*text = *copy;
	return CHOIR_SUCCESS;
}

choir_status started_config(const char *call, const choir_comm_config *given, struct started_config *out)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	*out = (struct started_config){ .given = given != NULL };
	if (given == NULL)
		return CHOIR_SUCCESS;
	TRY(call_read_struct(call, "config", "CHOIR_COMM_CONFIG_INIT", given, &config, sizeof config));
	config.struct_size = sizeof config;
	TRY(copy_text(&config.rules, &out->texts[0]));
	TRY(copy_text(&config.name, &out->texts[1]));
	TRY(copy_text(&config.options, &out->texts[2]));
	out->config = config;
	return CHOIR_SUCCESS;
}

void started_config_free(struct started_config *config)
{
	for (size_t i = 0; i < sizeof config->texts / sizeof *config->texts; i++)
		free(config->texts[i]);
}
