/* SPDX-License-Identifier: MIT */
/* choir-info gathers everything as one JSON object (docs/bench.md, "choir-info") and prints that, or the same as
 * text. */
#ifndef INFO_INFO_H
#define INFO_INFO_H

#include <choir/choir.h>
#include <jansson.h>
#include <stdbool.h>

/* All return new references and never NULL: what could not be learnt is {"error": sentence}. */
/* every platform and device; probe asks choir of each, which takes some ms a device */
json_t *info_platforms(bool probe);
json_t *info_mpi(void); /* initialises MPI for the thread level; info_mpi_done finalises it */
void info_mpi_done(void);
json_t *info_job(bool *speaks_p); /* of the comm of MPI's world; *speaks_p: whether this process is its rank 0 */
json_t *info_comm(void);          /* of one rank on the default device: algorithms and rules */
json_t *info_comm_host(void);     /* the same on host memory: makes no OpenCL call */
json_t *info_environment(void);   /* CHOIR_* variables that are set */

/* A text of the library's, which it takes over; the last error unless the status is SUCCESS. */
json_t *info_object(choir_status st, char *text);

/* Which algorithm runs when, on paper: {"ranks", "ranks_per_node", "collectives": [{"collective", "shared", "ranges":
 * [{"from", "to"?, "algorithm"}]}]}; from and to in bytes, to not included and absent at the end.  collectives: of
 * info_comm's algorithms; rules as in CHOIR_RULES. */
json_t *info_table(const json_t *algorithms, int ranks, int ranks_per_node);

/* info_print: as text on standard output. */
void info_print(const json_t *info);

#endif
