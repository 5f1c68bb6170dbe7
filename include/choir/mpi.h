/* SPDX-License-Identifier: MIT */
/* libchoir-mpi: comms over MPICH.  Link choir::mpi or pkg-config choir-mpi. */
#ifndef CHOIR_MPI_H
#define CHOIR_MPI_H

#include <choir/comm.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* choir_comm_create_mpi: a comm of the ranks of all processes of parent, n_local of them in this one, ordered by
 * process.  Collective over parent, an intracommunicator that is duplicated once; MPI must be initialised.  Blocks
 * until all processes have called it, at most config's deadline; it makes no blocking MPI call.
 *
 * Ranks on one machine use shared memory; MPI_THREAD_SINGLE is enough.  Between machines choir's threads call MPI,
 * which needs MPI_THREAD_MULTIPLE, or MPI_THREAD_SERIALIZED if the application makes no MPI call while collectives run.
 * With a lower level the call fails between machines, naming both levels.  config->transport, if given, is used instead
 * of MPI; the call takes ownership of it, also when it fails.
 *
 * Destroy comms before MPI_Finalize.  Where parent has all processes of MPI_COMM_WORLD, they wait for each other at the
 * beginning of MPI_Finalize, since it hangs over TCP now and then if they do not come together (MPICH over UCX, started
 * by hydra or Slurm's pmi2).  A comm that is destroyed later, or was aborted, makes no MPI call and does not
 * free its communicator.  ARGUMENT, also in a process that was forked after MPI began: MPI is the parent's; TIMEOUT,
 * TRANSPORT, UNSUPPORTED, and the errors of choir_comm_create. */
CHOIR_API choir_status choir_comm_create_mpi(MPI_Comm parent, int n_local, choir_device *const *devices,
                                             const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_create_mpi_start: choir_comm_create_mpi without blocking.  MPI_Comm_idup begins in the call, which so has
 * its place among the collective calls on parent, and a thread of the library's does the rest.  *event_p completes once
 * comms_out[0 .. n_local - 1] are set, or with the failure; until then they are NULL and comms_out stays valid.  There
 * is nothing to destroy before that, nor after a failure.  A process that does not come ends it at the deadline, with
 * TRANSPORT.  MPI must not be finalised meanwhile, and with MPI_THREAD_SERIALIZED the application makes no MPI call.
 * config->transport as above.  ARGUMENT, NO_MEMORY, and UNSUPPORTED below that level, at once; all else by the event.
 */
CHOIR_API choir_status choir_comm_create_mpi_start(MPI_Comm parent, int n_local, choir_device *const *devices,
                                                   const choir_comm_config *config, choir_comm **comms_out,
                                                   struct choir_event **event_p);

/* choir_comm_create_world: the same on MPI_COMM_WORLD.  It initialises MPI with MPI_THREAD_MULTIPLE if that was not
 * done; choir_finalize_world or the caller then finalises MPI.  UNSUPPORTED if MPI's world is this process alone where
 * the variables of a launcher (Open MPI's, PMI's, Slurm's) say that it started more.  It blocks;
 * choir_comm_create_mpi_start with MPI_COMM_WORLD does not. */
CHOIR_API choir_status choir_comm_create_world(int n_local, choir_device *const *devices,
                                               const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_create_gather: a comm across machines from an allgather alone, without mpiexec, ssh or a listener: as
 * choir_comm_create, with MPI between machines.  MPICH is started in this process, with MPI_THREAD_MULTIPLE, and the
 * bootstrap's gather stands for its launcher; it is called on this thread, some ten times.  MPI_COMM_WORLD is the
 * bootstrap's processes, in its order.
 *
 * MPI can be started once a process: later calls must come from the same processes in the same order, else UNSUPPORTED
 * on all of them, as where a process has initialised MPI otherwise.  MPI is started on a thread of the library, so
 * PMI_FD, PMI_RANK and PMI_SIZE are in the environment meanwhile, and of two processes UCX_RNDV_THRESH if neither has
 * it, so that messages of 64 KB need no rendezvous: let no other thread read or write the environment then.  Blocks, at
 * most config's deadline, or as long as a gather does.  UNSUPPORTED also where MPI took another launcher than this one.
 * After that, TIMEOUT or TRANSPORT MPI cannot be used in this process.  At the end call choir_finalize_world, and never
 * MPI_Finalize.  The errors of choir_comm_create_mpi. */
CHOIR_API choir_status choir_comm_create_gather(const choir_bootstrap *bootstrap, int n_local,
                                                choir_device *const *devices, const choir_comm_config *config,
                                                choir_comm **comms_out);

/* choir_finalize_world: finalises MPI if choir_comm_create_world initialised it.  Call it when the last comm is
 * destroyed.  TIMEOUT if not all processes have come after CHOIR_DEADLINE_MS, as where one is dead (PEER_DEAD), or ten
 * seconds later where one dies on the way out: MPI is then left as it is until this process ends, and later calls say
 * so again; MPI_Finalize, if you call it yourself, does not return.  After choir_comm_create_gather it waits for the
 * other processes, for some 6 s at most, and leaves MPI as it is until the process ends.  ARGUMENT in a process that
 * was forked after MPI began: MPI is the parent's. */
CHOIR_API choir_status choir_finalize_world(void);

#ifdef __cplusplus
}
#endif

#endif
