/* SPDX-License-Identifier: MIT */
/* Creating, splitting and destroying comms. */
#include "api/call.h"
#include "api/comm_life.h"
#include "api/join.h"
#include "api/bootstrap.h"
#include "api/links.h"
#include "api/named.h"
#include "api/started.h"
#include "exec/comm_list.h"
#include "exec/drain.h"
#include "exec/engine.h"
#include "base/fork.h"
#include "base/kept_error.h"
#include "exec/gone.h"
#include "exec/progress.h"
#include "exec/thread.h"
#include "sparse/share.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* for peers that have to read the rank's sparse pairs; none does where one failed alone */
enum { SETTLE_MS = 2000 };

static choir_status check_devices(const char *call, int n_local, choir_device *const *devices, choir_comm **comms_out)
{
	if (n_local < 1 || n_local > 1 << 20)
		return error_set(CHOIR_ARGUMENT, "%s: n_local is %d", call, n_local);
	if (devices == NULL || comms_out == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	for (int i = 0; i < n_local; i++)
		if (devices[i] == NULL)
			return error_set(CHOIR_ARGUMENT, "%s: devices[%d] is null", call, i);
		else if (dev_is_the_parents(devices[i]))
			return error_set(CHOIR_ARGUMENT, "%s: devices[%d] belongs to the process before fork", call, i);
	return CHOIR_SUCCESS;
}

/* The create call owns the transport, also when it fails, unless struct_size ends before that member.  Before the
 * bootstrap no messenger has it, so it is destroyed here. */
static choir_status refuse(choir_status st, const choir_comm_config *config)
{
	const size_t end = offsetof(choir_comm_config, transport) + sizeof config->transport;

	if (config != NULL && config->struct_size >= end)
		links_drop_given(config->transport);
	return st;
}

static choir_status create(const char *call, const choir_bootstrap *bootstrap, int n_local,
                           choir_device *const *devices, const choir_comm_config *given, choir_comm **comms_out)
{
	choir_comm_config config;
	struct join join = {
		.call = call, .bootstrap = bootstrap, .n_local = n_local, .devices = devices, .config = &config
	};
	choir_status st = check_devices(call, n_local, devices, comms_out);

	if (st == CHOIR_SUCCESS)
		st = join_config(call, given, &config);
	return st == CHOIR_SUCCESS ? join_comms(&join, comms_out) : refuse(st, given);
}

choir_status choir_comm_create_local(int n_local, choir_device *const *devices, const choir_comm_config *config,
                                     choir_comm **comms_out)
{
	return create("choir_comm_create_local", NULL, n_local, devices, config, comms_out);
}

static choir_status read_bootstrap(const char *call, const choir_bootstrap *given, choir_bootstrap *out)
{
	choir_bootstrap read = { .struct_size = sizeof read };

	TRY(call_read_struct(call, "bootstrap", "sizeof(choir_bootstrap)", given, &read, sizeof read));
	if (read.gather == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: bootstrap without gather", call);
	if (read.size < 1 || read.rank < 0 || read.rank >= read.size)
		return error_set(CHOIR_ARGUMENT, "%s: bootstrap rank %d of %d", call, read.rank, read.size);
	read.struct_size = sizeof read;
	*out = read;
	return CHOIR_SUCCESS;
}

choir_status choir_comm_create(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                               const choir_comm_config *config, choir_comm **comms_out)
{
	choir_bootstrap read;
	choir_status st = read_bootstrap("choir_comm_create", bootstrap, &read);

	if (st != CHOIR_SUCCESS)
		return refuse(st, config);
	return create("choir_comm_create", &read, n_local, devices, config, comms_out);
}

/* --- without blocking --- */

struct start {
	bool has_bootstrap;
	choir_bootstrap bootstrap;
	struct started_config config;
	choir_comm *shell; /* whose event it is */
	choir_comm **comms_out;
	int n_local;
	choir_device *devices[]; /* [n_local] references */
};

static choir_status create_started(void *args)
{
	struct start *start = args;
	const choir_bootstrap *bootstrap = start->has_bootstrap ? &start->bootstrap : NULL;
	struct kept_error outcome;

	error_keep(&outcome, create("choir_comm_create_start", bootstrap, start->n_local, start->devices,
	                            started_config_of(&start->config), start->comms_out));
	if (bootstrap != NULL && bootstrap->end != NULL)
		bootstrap->end(bootstrap->ctx); /* may set this thread's last error */
	return error_again(&outcome);
}

static void drop_start(void *args)
{
	struct start *start = args;

	for (int i = 0; i < start->n_local; i++)
		choir_device_destroy(start->devices[i]);
	started_config_free(&start->config);
	comm_release(start->shell);
	free(start);
}

static choir_status begin_create(const char *call, struct start *start, const choir_comm_config *config,
                                 choir_event **event_p)
{
	choir_status st = started_config(call, config, &start->config);

	if (st == CHOIR_SUCCESS)
		st = started_shell(start->devices[0], &start->shell);
	if (st != CHOIR_SUCCESS) {
		drop_start(start);
		return st;
	}
	return started_begin(&(struct started_call){ call, start->shell, create_started, drop_start, start }, event_p);
}

static choir_status start_create(const char *call, const choir_bootstrap *bootstrap, int n_local,
                                 choir_device *const *devices, const choir_comm_config *config, choir_comm **comms_out,
                                 choir_event **event_p)
{
	struct start *start;
	choir_bootstrap read = { .struct_size = sizeof read };

	if (event_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	if (bootstrap != NULL)
		TRY(read_bootstrap(call, bootstrap, &read));
	TRY(check_devices(call, n_local, devices, comms_out));
	start = calloc(1, sizeof *start + (size_t)n_local * sizeof(choir_device *));
	if (start == NULL)
		return error_no_memory("a comm", sizeof *start);
	start->has_bootstrap = bootstrap != NULL;
	start->bootstrap = read;
	start->n_local = n_local;
	start->comms_out = comms_out;
	for (int i = 0; i < n_local; i++) {
		start->devices[i] = dev_retain(devices[i]);
		comms_out[i] = NULL;
	}
	return begin_create(call, start, config, event_p);
}

choir_status choir_comm_create_start(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                                     const choir_comm_config *config, choir_comm **comms_out,
                                     struct choir_event **event_p)
{
	choir_status st =
	    start_create("choir_comm_create_start", bootstrap, n_local, devices, config, comms_out, event_p);

	return st == CHOIR_SUCCESS ? st : refuse(st, config);
}

int choir_comm_rank(const choir_comm *comm)
{
	return comm != NULL ? comm->rank : -1;
}

int choir_comm_size(const choir_comm *comm)
{
	return comm != NULL ? comm->n : 0;
}

int choir_comm_nodes(const choir_comm *comm)
{
	return comm != NULL ? comm->layout.n_nodes : 0;
}

int choir_comm_node(const choir_comm *comm, int rank)
{
	return comm != NULL && rank >= 0 && rank < comm->n ? comm->layout.node_of[rank] : -1;
}

int choir_comm_node_rank(const choir_comm *comm, int rank)
{
	return comm != NULL && rank >= 0 && rank < comm->n ? comm->layout.local_rank_of[rank] : -1;
}

choir_device *choir_comm_device(const choir_comm *comm)
{
	return comm != NULL ? comm->device : NULL;
}

choir_status choir_comm_status(const choir_comm *comm)
{
	choir_comm *asked = (choir_comm *)comm;

	if (comm == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_comm_status: null comm");
	TRY(call_enter("choir_comm_status", asked));
	engine_listen(asked); /* a rank that makes no calls asks nobody else */
	comm_leave(asked);
	return call_check_comm("choir_comm_status", asked);
}

choir_status choir_comm_abort(choir_comm *comm)
{
	char text[160];

	if (comm == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_comm_abort: null comm");
	if (comm->generation != fork_generation())
		return error_set(CHOIR_ARGUMENT, "choir_comm_abort: the comm belongs to the process before fork");
	TRY(call_enter("choir_comm_abort", comm));
	snprintf(text, sizeof text, "%s: aborted by rank %d", comm->name, comm->rank);
	comm_fail(comm, CHOIR_ABORTED, text);
	comm_list_note_work(comm);
	comm_leave(comm);
	return progress_kick(); /* what is in flight ends on the background thread */
}

/* A comm that is being made of this one needs it while it waits for ranks that may not come. */
static void end_making(choir_comm *comm)
{
	char text[160];

	if (drain_all(comm, NEWS_MS) || choir_comm_status(comm) != CHOIR_SUCCESS ||
	    atomic_load(&comm->uses.making) == 0)
		return;
	snprintf(text, sizeof text, "%s: rank %d: destroyed while a comm was being made of it", comm->name, comm->rank);
	comm_fail(comm, CHOIR_ABORTED, text);
}

/* Until the deadline calls may end well, and messages leave.  Then every call ends with the comm's failure. */
static choir_status end_calls(choir_comm *comm)
{
	choir_status st = CHOIR_SUCCESS;
	bool healthy;
	char text[160];

	if (atomic_load(&comm->uses.making) > 0)
		end_making(comm);
	healthy = choir_comm_status(comm) == CHOIR_SUCCESS;
	if (drain_all(comm, healthy ? comm->deadline_ms : NEWS_MS))
		return CHOIR_SUCCESS;
	if (choir_comm_status(comm) == CHOIR_SUCCESS) {
		snprintf(text, sizeof text, "%s: rank %d: destroyed with calls unfinished after %lld ms", comm->name,
		         comm->rank, (long long)comm->deadline_ms);
		comm_fail(comm, CHOIR_TIMEOUT, text);
		st = CHOIR_TIMEOUT;
		drain_all(comm, NEWS_MS);
	}
	drain_calls(comm);
	return st == CHOIR_SUCCESS ? st : error_set(st, "%s", text);
}

choir_status choir_comm_destroy(choir_comm *comm)
{
	choir_status st;

	if (comm == NULL)
		return CHOIR_SUCCESS;
	if (in_callback())
		return error_set(CHOIR_WOULD_DEADLOCK, "choir_comm_destroy inside a callback of the library's");
	if (comm->generation != fork_generation())
		return error_set(CHOIR_ARGUMENT, "choir_comm_destroy: the comm belongs to the process before fork");
	named_forget(comm);
	engine_refuse(comm);
	st = end_calls(comm);
	named_forget(comm); /* a group of this rank alone may have been made meanwhile */
	if (choir_comm_status(comm) == CHOIR_SUCCESS) {
		gone_say(comm, false);
		drain_all(comm, NEWS_MS);
		share_settle(SETTLE_MS);
	}
	comm_discard(comm);
	return st;
}

choir_status choir_comm_flush(choir_comm *comm)
{
	static const char call[] = "choir_comm_flush";
	choir_status st;

	TRY(call_check_comm(call, comm));
	TRY(call_check_outside(call));
	TRY(call_enter(call, comm));
	atomic_fetch_add(&comm->uses.flushing, 1);
	comm_leave(comm); /* a flush does not wait for flushes */
	st = drain_flush(comm, comm->deadline_ms)
	         ? comm_failure_inside(comm)
	         : error_set(CHOIR_TIMEOUT, "%s: rank %d: %s: calls are unfinished after %lld ms", comm->name,
	                     comm->rank, call, (long long)comm->deadline_ms);
	atomic_fetch_sub(&comm->uses.flushing, 1);
	return st;
}

/* Is none ever used? */
static bool has_no_kernel(const choir_device *device, const struct user_op *user)
{
	if (user != NULL && user->text == NULL)
		return true;
	return dev_is_host(device) && (user == NULL || user->config.fold != NULL);
}

choir_status choir_comm_warm(choir_comm *comm, choir_dtype dtype, choir_op op)
{
	static const char call[] = "choir_comm_warm";
	struct user_op *user = NULL;
	choir_status st;

	TRY(call_check_comm(call, comm));
	if (choir_dtype_bytes(dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", call, (int)dtype);
	if (user_op_is(op))
		TRY(user_op_find(call, op, &user));
	if (has_no_kernel(comm->device, user))
		st = reduce_supported(dtype, op);
	else
		st = reduce_kernel_warm(comm->device, dtype, op);
	user_op_release(user);
	return st;
}
