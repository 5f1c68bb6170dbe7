/* SPDX-License-Identifier: MIT */
#include "mpi_program.h"

#include "mpi/call.h"

#include <choir/event.h>
#include <string.h>

/* The core is not linked here; what reaches it is noted instead. */
static struct {
	int calls;
	choir_transport *transport;
	int gathered[16];
	bool fail, take;
} core;

choir_status choir_comm_create(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                               const choir_comm_config *config, choir_comm **comms_out)
{
	int mine = bootstrap->rank * 10;

	(void)n_local, (void)devices, (void)comms_out;
	core.calls++;
	core.transport = config->transport;
	if ((core.take || core.fail) && config->transport != NULL)
		config->transport->ops->destroy(
		    config->transport); /* not needed, or the call fails: it is the core's to destroy */
	if (bootstrap->gather(bootstrap->ctx, &mine, sizeof mine, core.gathered) != 0)
		return choir_transport_error(CHOIR_TRANSPORT, "the gather failed");
	if (core.fail)
		return choir_transport_error(CHOIR_UNSUPPORTED, "there is more than one node and no transport");
	return CHOIR_SUCCESS;
}

/* At once, where the library has a thread for it. */
choir_status choir_comm_create_start(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                                     const choir_comm_config *config, choir_comm **comms_out, choir_event **event_p)
{
	choir_status st;

	*event_p = NULL;
	st = choir_comm_create(bootstrap, n_local, devices, config, comms_out);
	if (st == CHOIR_SUCCESS)
		bootstrap->end(bootstrap->ctx);
	return st;
}

/* A transport of the application's that counts how often it is destroyed. */
static int destroyed;

static void count_destroy(choir_transport *t)
{
	(void)t;
	destroyed++;
}

void case_create(void)
{
	static const choir_transport_ops ops = { .struct_size = sizeof ops,
		                                 .name = "theirs",
		                                 .destroy = count_destroy };
	choir_transport theirs = { .ops = &ops };
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_event *event = NULL;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	REQUIRE(choir_comm_create_mpi(MPI_COMM_NULL, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	REQUIRE(strstr(choir_last_error(), "MPI_COMM_NULL") != NULL);
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, NULL, NULL, &comm) == CHOIR_ARGUMENT);
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 0, &device, NULL, &comm) == CHOIR_ARGUMENT);
	REQUIRE(choir_comm_create_world(1, &device, NULL, NULL) == CHOIR_ARGUMENT);
	config.struct_size = 2;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, &config, &comm) == CHOIR_ARGUMENT);
	config.transport = &theirs; /* the half of a pointer is none */
	config.struct_size = offsetof(choir_comm_config, transport) + sizeof(void *) / 2;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, &config, &comm) == CHOIR_ARGUMENT);
	REQUIRE(choir_comm_create_world(1, &device, &config, &comm) == CHOIR_ARGUMENT);
	REQUIRE(core.calls == 0 && destroyed == 0);
	config = (choir_comm_config)CHOIR_COMM_CONFIG_INIT;
	config.transport = &theirs;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_NULL, 1, &device, &config, &comm) == CHOIR_ARGUMENT && destroyed == 1);
	REQUIRE(choir_comm_create_world(1, NULL, &config, &comm) == CHOIR_ARGUMENT && destroyed == 2);
	core.take = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, &config, &comm) == CHOIR_SUCCESS);
	REQUIRE(core.transport == &theirs && destroyed == 3);
	core.calls = 0;

	core.take = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_SUCCESS);
	REQUIRE(core.calls == 1 && core.transport != NULL);
	for (int r = 0; r < my_size; r++)
		REQUIRE(core.gathered[r] == r * 10);
	REQUIRE(choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_SUCCESS);
	core.calls = 0;
	memset(core.gathered, 0, sizeof core.gathered);
	REQUIRE(choir_comm_create_mpi_start(MPI_COMM_WORLD, 1, &device, NULL, &comm, &event) == CHOIR_SUCCESS);
	REQUIRE(core.calls == 1 && core.transport != NULL && core.gathered[my_size - 1] == (my_size - 1) * 10);
	REQUIRE(choir_comm_create_mpi_start(MPI_COMM_NULL, 1, &device, &config, &comm, &event) == CHOIR_ARGUMENT);
	REQUIRE(destroyed == 4 && core.calls == 1);

	core.fail = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_UNSUPPORTED);
	REQUIRE(strstr(choir_last_error(), "MPI_THREAD") == NULL);
	REQUIRE(choir_finalize_world() == CHOIR_SUCCESS); /* not ours to finalise */
}

void case_single(void)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_transport *t = NULL;

	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_SUCCESS);
	REQUIRE(core.transport == NULL);
	core.fail = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_UNSUPPORTED);
	REQUIRE(strstr(choir_last_error(), "MPI_THREAD_SINGLE") != NULL &&
	        strstr(choir_last_error(), "MPI_THREAD_SERIALIZED") != NULL);
	REQUIRE(mpi_transport_create(MPI_COMM_WORLD, DEADLINE_MS, &t) == CHOIR_UNSUPPORTED);
}

/* MPI's reason stands in the sentence, and neither its stack nor addresses of buffers. */
void case_error(void)
{
	MPI_Comm comm;
	int x = 0, rc;

	MPI_Comm_dup(MPI_COMM_SELF, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	rc = MPI_Send(&x, 1, MPI_INT, 77, 0, comm);
	REQUIRE(rc != MPI_SUCCESS);
	REQUIRE(mpi_error("MPI_Send to process 77", rc) == CHOIR_TRANSPORT);
	REQUIRE(strcmp(choir_last_error(), "MPI_Send to process 77: Invalid rank: Invalid rank has value 77 but must "
	                                   "be nonnegative and less than 1") == 0);
	MPI_Comm_free(&comm);
}

/* Without MPI_Init: world initialises and finalises. */
int case_world(void)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	int over = 0;

	if (choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) != CHOIR_ARGUMENT)
		return 1;
	core.take = true;
	REQUIRE(choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_SUCCESS);
	REQUIRE(choir_finalize_world() == CHOIR_SUCCESS);
	MPI_Finalized(&over);
	return over && choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_ARGUMENT ? 0 : 1;
}
