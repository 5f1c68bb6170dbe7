/* SPDX-License-Identifier: MIT */
/* Comms over MPI: MPI is the bootstrap between the processes, and the transport between nodes if its thread level
 * allows that. */
#include "mpi/create.h"

#include "mpi/begin.h"
#include "mpi/config.h"
#include "mpi/transport.h"

#include <choir/event.h>
#include <choir/mpi.h>
#include <stdlib.h>
#include <string.h>

struct gathering { /* the bootstrap's ctx, during create only */
	const char *call;
	struct mpi_link *link;
	int64_t deadline_ms;
	choir_status st; /* of the last gather that failed */
	char text[512];
};

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct gathering *gathering = ctx;
	choir_status st = mpi_link_gather(gathering->link, gathering->deadline_ms, mine, bytes, all);

	if (st == CHOIR_SUCCESS)
		return 0;
	gathering->st = st;
	strncpy(gathering->text, choir_last_error(), sizeof gathering->text - 1);
	return 1;
}

static choir_status check_parent(const char *call, MPI_Comm parent)
{
	int inter = 0, rc;

	if (parent == MPI_COMM_NULL)
		return choir_transport_error(CHOIR_ARGUMENT, "%s: parent is MPI_COMM_NULL", call);
	if (!mpi_enter())
		return mpi_gone(call);
	rc = MPI_Comm_test_inter(parent, &inter);
	mpi_leave();
	if (rc != MPI_SUCCESS || inter)
		return choir_transport_error(
		    CHOIR_ARGUMENT, "%s: parent is an intercommunicator; merge it first (MPI_Intercomm_merge)", call);
	return CHOIR_SUCCESS;
}

/* Adds the cause of a failed create to its sentence: the gather, or the thread level that forbids the transport. */
static choir_status explain(choir_status st, const struct gathering *gathering)
{
	char text[512] = "";

	if (gathering->st != CHOIR_SUCCESS)
		return choir_transport_error(gathering->st, "%s: %s", gathering->call, gathering->text);
	if (mpi_level() >= MPI_THREAD_SERIALIZED ||
	    (st != CHOIR_UNSUPPORTED && st != CHOIR_TRANSPORT && st != CHOIR_ARGUMENT))
		return st;
	strncpy(text, choir_last_error(), sizeof text - 1);
	return choir_transport_error(
	    st, "%s (MPI runs with %s; between nodes choir needs MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE)", text,
	    mpi_level_name(mpi_level()));
}

static choir_status create_over(const char *call, struct mpi_link *link, int n_local, choir_device *const *devices,
                                choir_comm_config *config, choir_comm **comms_out)
{
	struct gathering gathering = { .call = call, .link = link, .deadline_ms = mpi_deadline_ms(config) };
	choir_bootstrap bootstrap = { .struct_size = sizeof bootstrap,
		                      .rank = link->rank,
		                      .size = link->size,
		                      .gather = gather,
		                      .ctx = &gathering };
	choir_status st;

	if (config->transport == NULL && mpi_level() >= MPI_THREAD_SERIALIZED)
		TRY(mpi_said(call, mpi_transport_over(link, &config->transport)));
	/* owns the transport from here on, also when it fails */
	st = choir_comm_create(&bootstrap, n_local, devices, config, comms_out);
	return st == CHOIR_SUCCESS ? st : explain(st, &gathering);
}

static choir_status begin_call(const char *call, MPI_Comm parent, int n_local, choir_device *const *devices,
                               const choir_comm_config *config, choir_comm **comms_out)
{
	TRY(mpi_check_arguments(call, n_local, devices, config, comms_out));
	TRY(mpi_begin(call));
	return check_parent(call, parent);
}

choir_status mpi_create(const char *call, MPI_Comm parent, int n_local, choir_device *const *devices,
                        const choir_comm_config *config, choir_comm **comms_out)
{
	struct mpi_link *link = NULL;
	choir_comm_config copy = mpi_copy_config(config);
	choir_status st = begin_call(call, parent, n_local, devices, config, comms_out);

	if (st == CHOIR_SUCCESS)
		st = mpi_said(call, mpi_link_create(parent, mpi_deadline_ms(&copy), &link));
	if (st != CHOIR_SUCCESS)
		return mpi_refuse(st, &copy);
	st = create_over(call, link, n_local, devices, &copy, comms_out);
	mpi_link_release(link);
	return st;
}

choir_status choir_comm_create_mpi(MPI_Comm parent, int n_local, choir_device *const *devices,
                                   const choir_comm_config *config, choir_comm **comms_out)
{
	return mpi_create("choir_comm_create_mpi", parent, n_local, devices, config, comms_out);
}

/* --- without blocking --- */

/* The bootstrap's ctx of a comm that is being made; freed behind the last gather. */
struct starting {
	struct mpi_link *link; /* a reference */
	int64_t deadline_ms;
};

/* On the library's thread.  The sentence of a failure is this thread's last error. */
static int finish_and_gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct starting *starting = ctx;
	struct mpi_link *link = starting->link;

	if (link->begun && mpi_link_finish(link, starting->deadline_ms) != CHOIR_SUCCESS)
		return 1;
	return mpi_link_gather(link, starting->deadline_ms, mine, bytes, all) != CHOIR_SUCCESS;
}

/* Before anybody sees that the event is complete, and may finalise MPI. */
static void end_start(void *ctx)
{
	struct starting *starting = ctx;

	mpi_link_release(starting->link);
	free(starting);
}

/* Takes the reference of the link. */
static choir_status start_over(struct mpi_link *link, int n_local, choir_device *const *devices,
                               choir_comm_config *config, choir_comm **comms_out, choir_event **event_p)
{
	struct starting *starting = malloc(sizeof *starting);
	choir_bootstrap bootstrap = { .struct_size = sizeof bootstrap,
		                      .rank = link->rank,
		                      .size = link->size,
		                      .gather = finish_and_gather,
		                      .ctx = starting,
		                      .end = end_start };
	choir_status st = CHOIR_SUCCESS;

	if (starting == NULL)
		st = choir_transport_error(CHOIR_NO_MEMORY, "choir_comm_create_mpi_start: no memory");
	else if (link->size == 1) /* there will be no gather */
		st = mpi_said("choir_comm_create_mpi_start", mpi_link_finish(link, mpi_deadline_ms(config)));
	if (st == CHOIR_SUCCESS && config->transport == NULL)
		st = mpi_said("choir_comm_create_mpi_start", mpi_transport_over(link, &config->transport));
	if (st != CHOIR_SUCCESS) {
		mpi_link_release(link);
		free(starting);
		return mpi_refuse(st, config);
	}
	*starting = (struct starting){ link, mpi_deadline_ms(config) };
	/* owns the transport from here on, also when it fails */
	st = choir_comm_create_start(&bootstrap, n_local, devices, config, comms_out, event_p);
	if (st != CHOIR_SUCCESS)
		end_start(starting);
	return st;
}

choir_status choir_comm_create_mpi_start(MPI_Comm parent, int n_local, choir_device *const *devices,
                                         const choir_comm_config *config, choir_comm **comms_out, choir_event **event_p)
{
	static const char call[] = "choir_comm_create_mpi_start";
	struct mpi_link *link = NULL;
	choir_comm_config copy = mpi_copy_config(config);
	choir_status st = CHOIR_SUCCESS;

	if (event_p == NULL)
		st = choir_transport_error(CHOIR_ARGUMENT, "%s: event_p is NULL", call);
	if (st == CHOIR_SUCCESS)
		st = mpi_begin(call);
	if (st == CHOIR_SUCCESS && mpi_level() < MPI_THREAD_SERIALIZED)
		st = choir_transport_error(CHOIR_UNSUPPORTED,
		                           "%s: MPI runs with %s; a thread of the library's calls it, which needs "
		                           "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
		                           call, mpi_level_name(mpi_level()));
	if (st == CHOIR_SUCCESS)
		st = mpi_check_arguments(call, n_local, devices, config, comms_out);
	if (st == CHOIR_SUCCESS)
		st = check_parent(call, parent);
	if (st == CHOIR_SUCCESS)
		st = mpi_said(call, mpi_link_begin(parent, &link));
	if (st != CHOIR_SUCCESS)
		return mpi_refuse(st, &copy);
	return start_over(link, n_local, devices, &copy, comms_out, event_p);
}
