/* SPDX-License-Identifier: MIT */
/* A comm between machines from an allgather alone. */
#include "mpi/config.h"
#include "mpi/start.h"

#include "mpi/call.h"

#include <choir/mpi.h>
#include <choir/transport.h>
#include <string.h>

static choir_status check_bootstrap(const choir_bootstrap *bootstrap)
{
	if (bootstrap == NULL || bootstrap->gather == NULL)
		return choir_transport_error(CHOIR_ARGUMENT, "choir_comm_create_gather: %s is NULL",
		                             bootstrap == NULL ? "bootstrap" : "bootstrap->gather");
	if (bootstrap->struct_size != sizeof *bootstrap)
		return choir_transport_error(CHOIR_ARGUMENT,
		                             "choir_comm_create_gather: bootstrap->struct_size is %zu; this library "
		                             "knows %zu",
		                             bootstrap->struct_size, sizeof *bootstrap);
	if (bootstrap->size < 1 || bootstrap->rank < 0 || bootstrap->rank >= bootstrap->size)
		return choir_transport_error(CHOIR_ARGUMENT, "choir_comm_create_gather: there is no process %d of %d",
		                             bootstrap->rank, bootstrap->size);
	return CHOIR_SUCCESS;
}

choir_status choir_comm_create_gather(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                                      const choir_comm_config *config, choir_comm **comms_out)
{
	choir_comm_config copy;
	char text[512] = "";
	choir_status st;

	copy = mpi_copy_config(config);
	st = mpi_check_arguments("choir_comm_create_gather", n_local, devices, config, comms_out);
	if (st == CHOIR_SUCCESS)
		st = mpi_check_process("choir_comm_create_gather");
	if (st == CHOIR_SUCCESS)
		st = check_bootstrap(bootstrap);
	if (st == CHOIR_SUCCESS) {
		st = mpi_start(bootstrap, mpi_deadline_ms(&copy));
		if (st == CHOIR_SUCCESS)
			return choir_comm_create_mpi(MPI_COMM_WORLD, n_local, devices, &copy, comms_out);
		strncpy(text, choir_last_error(), sizeof text - 1);
		st = choir_transport_error(st, "choir_comm_create_gather: %s", text);
	}
	return mpi_refuse(st, &copy);
}
