/* SPDX-License-Identifier: MIT */
#include "mpi/call.h"

#include <choir/mpi.h>
#include <choir/transport.h>
#include <pthread.h>

static pthread_mutex_t world_lock = PTHREAD_MUTEX_INITIALIZER;
static bool ours; /* choir_comm_create_world initialised MPI; under world_lock */

static choir_status initialise(void)
{
	int there = 0, provided, rc;

	MPI_Initialized(&there);
	if (there)
		return CHOIR_SUCCESS;
	rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	if (rc != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT,
		                             "choir_comm_create_world: MPI_Init_thread failed with MPI error %d", rc);
	ours = true;
	return CHOIR_SUCCESS;
}

choir_status choir_comm_create_world(int n_local, choir_device *const *devices, const choir_comm_config *config,
                                     choir_comm **comms_out)
{
	choir_status st = CHOIR_SUCCESS;

	pthread_mutex_lock(&world_lock);
	if (devices != NULL && comms_out != NULL && n_local > 0) /* else the call below refuses: MPI is not needed */
		st = initialise();
	pthread_mutex_unlock(&world_lock);
	TRY(st);
	return choir_comm_create_mpi(MPI_COMM_WORLD, n_local, devices, config, comms_out);
}

choir_status choir_finalize_world(void)
{
	int over = 0, rc = MPI_SUCCESS;

	pthread_mutex_lock(&world_lock);
	if (ours) {
		ours = false;
		MPI_Finalized(&over);
		if (!over)
			rc = MPI_Finalize();
	}
	pthread_mutex_unlock(&world_lock);
	if (rc != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT,
		                             "choir_finalize_world: MPI_Finalize failed with MPI error %d", rc);
	return CHOIR_SUCCESS;
}
