/* SPDX-License-Identifier: MIT */
/* libchoir-mpi: comms over MPICH.  Link choir::mpi or pkg-config choir-mpi. */
#ifndef CHOIR_MPI_H
#define CHOIR_MPI_H

#include <choir/comm.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* choir_comm_create_mpi: the ranks of all processes of parent, n_local of this one, ordered by process.  Collective
 * over parent (an intracommunicator), which is duplicated once; MPI must be initialised.  Blocks until all processes
 * have come, at most config's deadline; no MPI call in it is a blocking one.
 *
 * Ranks on one machine use shared memory, and MPI_THREAD_SINGLE will do.  Between machines MPI carries the bytes,
 * called from threads of the library, which needs MPI_THREAD_MULTIPLE, or MPI_THREAD_SERIALIZED: the application then
 * makes no MPI call while collectives run.  With less, create fails between machines and names both levels.
 * config->transport, if given, is used instead of MPI's, and taken over whatever the outcome.
 *
 * Comms are destroyed before MPI_Finalize; one that is destroyed later, or was aborted, makes no MPI call any more and
 * leaves its communicator to MPI. ARGUMENT, TIMEOUT, TRANSPORT, UNSUPPORTED, and what choir_comm_create returns. */
CHOIR_API choir_status choir_comm_create_mpi(MPI_Comm parent, int n_local, choir_device *const *devices,
                                             const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_create_world: the same on MPI_COMM_WORLD, initialising MPI (MPI_THREAD_MULTIPLE) if nobody has; then MPI
 * is finalised by choir_finalize_world, or by the caller. */
CHOIR_API choir_status choir_comm_create_world(int n_local, choir_device *const *devices,
                                               const choir_comm_config *config, choir_comm **comms_out);

/* choir_finalize_world: finalises MPI if choir_comm_create_world initialised it.  After the last comm was destroyed. */
CHOIR_API choir_status choir_finalize_world(void);

#ifdef __cplusplus
}
#endif

#endif
