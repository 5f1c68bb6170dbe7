/* SPDX-License-Identifier: MIT */
#ifndef MPI_CREATE_H
#define MPI_CREATE_H

#include <choir/comm.h>
#include <mpi.h>

/* mpi_create: choir_comm_create_mpi for the public function of that name, which its sentences begin with. */
choir_status mpi_create(const char *call, MPI_Comm parent, int n_local, choir_device *const *devices,
                        const choir_comm_config *config, choir_comm **comms_out);

#endif
