/* SPDX-License-Identifier: MIT */
/* A comm between machines from an allgather alone. */
#include "mpi/config.h"
#include "mpi/create.h"
#include "mpi/start.h"

#include "mpi/call.h"

#include <choir/mpi.h>
#include <choir/transport.h>
#include <string.h>

/* As choir_comm_create reads it: the caller's struct may be an older, shorter one. */
static choir_status read_bootstrap(const choir_bootstrap *given, choir_bootstrap *out)
{
	choir_bootstrap read = { .struct_size = sizeof read };

	if (given == NULL)
		return choir_transport_error(CHOIR_ARGUMENT, "choir_comm_create_gather: bootstrap is NULL");
	TRY(mpi_check_size("choir_comm_create_gather", "bootstrap", "sizeof(choir_bootstrap)", given->struct_size,
	                   sizeof read));
	memcpy(&read, given, given->struct_size);
	if (read.gather == NULL)
		return choir_transport_error(CHOIR_ARGUMENT, "choir_comm_create_gather: bootstrap->gather is NULL");
	if (read.size < 1 || read.rank < 0 || read.rank >= read.size)
		return choir_transport_error(CHOIR_ARGUMENT, "choir_comm_create_gather: there is no process %d of %d",
		                             read.rank, read.size);
	read.struct_size = sizeof read;
	*out = read;
	return CHOIR_SUCCESS;
}

choir_status choir_comm_create_gather(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                                      const choir_comm_config *config, choir_comm **comms_out)
{
	choir_comm_config copy;
	choir_bootstrap read;
	choir_status st;

	copy = mpi_copy_config(config);
	st = mpi_check_arguments("choir_comm_create_gather", n_local, devices, config, comms_out);
	if (st == CHOIR_SUCCESS)
		st = mpi_check_process("choir_comm_create_gather");
	if (st == CHOIR_SUCCESS)
		st = read_bootstrap(bootstrap, &read);
	if (st == CHOIR_SUCCESS)
		st = mpi_said("choir_comm_create_gather", mpi_start(&read, mpi_deadline_ms(&copy)));
	if (st != CHOIR_SUCCESS)
		return mpi_refuse(st, &copy);
	return mpi_create("choir_comm_create_gather", MPI_COMM_WORLD, n_local, devices, &copy, comms_out);
}
