/* SPDX-License-Identifier: MIT */
/* choir-info gathers everything as one JSON object (docs/bench.md, "choir-info") and prints that, or the same as text. */
#ifndef INFO_INFO_H
#define INFO_INFO_H

#include <jansson.h>
#include <stdbool.h>

/* All return new references and never NULL: what could not be learnt is {"error": sentence}. */
json_t *info_platforms(bool probe); /* every platform and device; probe asks choir of each, which takes some ms a device */
json_t *info_mpi(void);             /* initialises MPI for the thread level; info_mpi_done finalises it */
void info_mpi_done(void);
json_t *info_comm(void);            /* of one rank on the default device: algorithms and rules */
json_t *info_environment(void);     /* CHOIR_* variables that are set */

/* info_print: as text on standard output. */
void info_print(const json_t *info);

#endif
