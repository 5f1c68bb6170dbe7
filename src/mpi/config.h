/* SPDX-License-Identifier: MIT */
/* The caller's choir_comm_config, as the create calls over MPI read it. */
#ifndef MPI_CONFIG_H
#define MPI_CONFIG_H

#include <choir/comm.h>

/* mpi_check_size: ARGUMENT where no version of the structure up to this library's is that long, as the core says it.
 * what: "config"; init: what to use. */
choir_status mpi_check_size(const char *call, const char *what, const char *init, size_t size, size_t known);

/* mpi_check_arguments: ARGUMENT, with a sentence that begins with `call`, where devices or comms_out is NULL, n_local
 * is below 1, or config is of an unknown size. */
choir_status mpi_check_arguments(const char *call, int n_local, choir_device *const *devices,
                                 const choir_comm_config *config, choir_comm **comms_out);

/* mpi_copy_config: a copy of the caller's config, which may be NULL, or of another size that is not checked yet:
 * of its whole words. */
choir_comm_config mpi_copy_config(const choir_comm_config *config);

/* mpi_refuse: destroys the config's transport, which a create call owns also when it fails before choir_comm_create.
 * Returns st. */
choir_status mpi_refuse(choir_status st, const choir_comm_config *config);

/* mpi_deadline_ms: the config's deadline, CHOIR_DEADLINE_MS, or 10 minutes. */
int64_t mpi_deadline_ms(const choir_comm_config *config);

#endif
