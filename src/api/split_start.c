/* SPDX-License-Identifier: MIT */
/* A split that does not block: a thread of its own makes the blocking call and completes an event. */
#include "api/call.h"

#include "exec/event.h"
#include "node/bell.h"

#include <choir/group.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct started_split {
	choir_comm *comm; /* a reference */
	int color, key;
	choir_comm_config config; /* its texts are behind this */
	bool has_config;
	choir_comm **out_p;
	choir_event *event; /* a reference */
	char *texts[3];
};

static void free_split(struct started_split *split)
{
	for (size_t i = 0; i < sizeof split->texts / sizeof *split->texts; i++)
		free(split->texts[i]);
	choir_event_release(split->event);
	comm_release(split->comm);
	free(split);
}

static void *make_split(void *arg)
{
	struct started_split *split = arg;
	choir_status st = choir_comm_split_config(split->comm, split->color, split->key,
	                                          split->has_config ? &split->config : NULL, split->out_p);

	event_complete(split->event, st, st == CHOIR_SUCCESS ? NULL : error_text());
	bell_ring(bell_mine()); /* whoever waits for the event */
	free_split(split);
	return NULL;
}

static choir_status copy_text(const char **text, char **copy)
{
	if (*text == NULL)
		return CHOIR_SUCCESS;
	*copy = strdup(*text);
	if (*copy == NULL)
		return error_no_memory("the config of a split", strlen(*text) + 1);
	*text = *copy;
	return CHOIR_SUCCESS;
}

static choir_status copy_config(const char *call, const choir_comm_config *given, struct started_split *split)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	split->has_config = given != NULL;
	if (given == NULL)
		return CHOIR_SUCCESS;
	TRY(call_read_struct(call, "config", "CHOIR_COMM_CONFIG_INIT", given, &config, sizeof config));
	config.struct_size = sizeof config;
	TRY(copy_text(&config.rules, &split->texts[0]));
	TRY(copy_text(&config.name, &split->texts[1]));
	TRY(copy_text(&config.options, &split->texts[2]));
	split->config = config;
	return CHOIR_SUCCESS;
}

static choir_status start_thread(struct started_split *split)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, make_split, split) != 0)
		return error_set(CHOIR_NO_MEMORY, "no thread for a split");
	pthread_detach(thread);
	return CHOIR_SUCCESS;
}

choir_status choir_comm_split_start(choir_comm *comm, int color, int key, const choir_comm_config *config,
                                    choir_comm **out_p, choir_event **event_p)
{
	static const char call[] = "choir_comm_split_start";
	struct started_split *split;
	choir_event *event;
	choir_status st;

	if (out_p == NULL || event_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	TRY(call_check_comm(call, comm));
	split = calloc(1, sizeof *split);
	if (split == NULL)
		return error_no_memory("a split", sizeof *split);
	*split = (struct started_split){ .comm = comm_retain(comm), .color = color, .key = key, .out_p = out_p };
	st = copy_config(call, config, split);
	if (st == CHOIR_SUCCESS)
		st = event_create(comm, &split->event);
	if (st != CHOIR_SUCCESS) {
		free_split(split);
		return st;
	}
	event = choir_event_retain(split->event);
	st = start_thread(split);
	if (st != CHOIR_SUCCESS) {
		free_split(split);
		choir_event_release(event);
		return st;
	}
	*event_p = event;
	return CHOIR_SUCCESS;
}
