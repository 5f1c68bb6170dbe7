/* SPDX-License-Identifier: MIT */
#include "mpi/begin.h"
#include "mpi/call.h"
#include "mpi/config.h"
#include "mpi/create.h"
#include "mpi/finalise.h"
#include "mpi/start.h"

#include <choir/mpi.h>
#include <choir/transport.h>
#include <stdlib.h>

MPI_LOCK(world_lock)
/* Under world_lock. */
static bool ours;                  /* choir_comm_create_world initialised MPI */
static choir_status finalise_said; /* what choir_finalize_world's first call came to */

static choir_status initialise(void)
{
	int there = 0, provided, rc;

	TRY(mpi_said("choir_comm_create_world", mpi_start_check()));
	MPI_Initialized(&there);
	if (there)
		return CHOIR_SUCCESS;
	mpi_begins();
	rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	if (rc != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT,
		                             "choir_comm_create_world: MPI_Init_thread failed with MPI error %d", rc);
	ours = true;
	finalise_note(MPI_COMM_WORLD);
	return CHOIR_SUCCESS;
}

/* The launchers' names for the number of their processes; a step of Slurm's is one that srun has started. */
static const struct {
	const char *size, *also, *hint;
} launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", NULL, "Open MPI's mpiexec started it, and libchoir-mpi is MPICH's" },
	{ "PMI_SIZE", NULL, "the launcher's MPI and libchoir-mpi's are of different families" },
	{ "SLURM_NTASKS", "SLURM_STEP_ID", "srun offered no PMI: try srun --mpi=pmi2, or mpiexec" },
};

/* A launcher of another family starts n worlds of one rank, each of which would compute alone in silence. */
static choir_status check_alone(void)
{
	int size = 0, over = 0;

	MPI_Finalized(&over);
	if (over || !mpi_enter())
		return CHOIR_SUCCESS; /* the create call says that MPI is finalised */
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	mpi_leave();
	for (size_t i = 0; size == 1 && i < sizeof launchers / sizeof *launchers; i++) {
		const char *text = getenv(launchers[i].size);

		if (text == NULL || atoi(text) < 2 || (launchers[i].also != NULL && getenv(launchers[i].also) == NULL))
			continue;
		return choir_transport_error(
		    CHOIR_UNSUPPORTED, "choir_comm_create_world: MPI's world is this process alone, but %s=%s: %s",
		    launchers[i].size, text, launchers[i].hint);
	}
	return CHOIR_SUCCESS;
}

choir_status choir_comm_create_world(int n_local, choir_device *const *devices, const choir_comm_config *config,
                                     choir_comm **comms_out)
{
	choir_comm_config copy = mpi_copy_config(config);
	choir_status st = mpi_check_process("choir_comm_create_world");

	if (st != CHOIR_SUCCESS)
		return mpi_refuse(st, &copy);
	if (devices != NULL && comms_out != NULL && n_local > 0) { /* else the call below refuses: MPI is not needed */
		pthread_mutex_lock(&world_lock);
		st = initialise();
		pthread_mutex_unlock(&world_lock);
		if (st == CHOIR_SUCCESS)
			st = check_alone();
	}
	if (st != CHOIR_SUCCESS)
		return mpi_refuse(st, &copy);
	return mpi_create("choir_comm_create_world", MPI_COMM_WORLD, n_local, devices, config, comms_out);
}

/* Under world_lock.  MPI_Finalize of MPICH waits for a process that is dead, and does not return. */
static choir_status finalise(void)
{
	int64_t deadline_ms;
	int over = 0, rc;

	MPI_Finalized(&over);
	if (over)
		return CHOIR_SUCCESS;
	if (!mpi_end(&deadline_ms))
		return choir_transport_error(CHOIR_TIMEOUT,
		                             "choir_finalize_world: not all processes came in %lld ms: one may be "
		                             "dead.  MPI is left as it is until this process ends",
		                             (long long)deadline_ms);
	rc = MPI_Finalize();
	if (rc != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT,
		                             "choir_finalize_world: MPI_Finalize failed with MPI error %d", rc);
	return CHOIR_SUCCESS;
}

choir_status choir_finalize_world(void)
{
	choir_status st = CHOIR_SUCCESS;

	TRY(mpi_check_process("choir_finalize_world"));
	if (mpi_leave_started())
		return CHOIR_SUCCESS;
	pthread_mutex_lock(&world_lock);
	if (ours)
		finalise_said = st = finalise();
	else if (finalise_said != CHOIR_SUCCESS)
		st = choir_transport_error(finalise_said, "choir_finalize_world: it has failed before: MPI is left "
		                                          "as it is until this process ends");
	ours = false;
	pthread_mutex_unlock(&world_lock);
	return st;
}
