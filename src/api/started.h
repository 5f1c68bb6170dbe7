/* SPDX-License-Identifier: MIT */
/* Calls that make comms without blocking: a thread of the library's makes the blocking call, and its outcome is an
 * event. */
#ifndef API_STARTED_H
#define API_STARTED_H

#include "api/call.h"

/* started_begin: run(args) on a thread of its own; *event_p, an event of the comm, completes with the outcome.  Takes
 * args, also on failure: drop(args) ends them.  NO_MEMORY: run was not called. */
struct started_call {
	const char *call; /* for messages */
	choir_comm *comm;
	choir_status (*run)(void *args);
	void (*drop)(void *args);
	void *args;
};
choir_status started_begin(const struct started_call *started, choir_event **event_p);

/* started_shell: a comm that can do no more than have events, as one that has been destroyed: for a call that makes the
 * first comm.  One reference. */
choir_status started_shell(choir_device *device, choir_comm **out_p);

/* started_is_shell: is that such a comm?  Its process has no rank yet. */
static inline bool started_is_shell(const choir_comm *comm)
{
	return comm->n == 0;
}

/* A copy of the caller's config, its texts included.  started_config: given NULL: started_config_of is NULL too.
 * ARGUMENT for a wrong struct_size. */
struct started_config {
	choir_comm_config config;
	bool given;
	char *texts[3];
};
choir_status started_config(const char *call, const choir_comm_config *given, struct started_config *out);
void started_config_free(struct started_config *config);
static inline const choir_comm_config *started_config_of(const struct started_config *config)
{
	return config->given ? &config->config : NULL;
}

#endif
