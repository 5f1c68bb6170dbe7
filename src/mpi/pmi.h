/* SPDX-License-Identifier: MIT */
/* The other end of MPICH's PMI-1 wire, in this process: what a launcher answers, answered from a bootstrap alone. */
#ifndef MPI_PMI_H
#define MPI_PMI_H

#include <choir/comm.h>
#include <stdbool.h>

struct pmi {
	const choir_bootstrap *bootstrap;
	int fd;       /* our end of the socketpair */
	int theirs;   /* MPICH's, which it keeps once it has begun */
	char *values; /* lines "key=value" of all processes, as of the last barrier */
	char *put;    /* lines of this process since then */
	char *line;   /* a request, whose end has not come yet */
	size_t line_bytes;
};

/* pmi_open: makes the socketpair.  NO_MEMORY.  pmi_close: where MPI_Init was not called; closes both ends, and frees.
 * pmi_name: names its other end, rank and size in the environment (PMI_FD, PMI_RANK, PMI_SIZE), where MPI_Init looks
 * for a launcher; NO_MEMORY.
 * pmi_forget: takes the variables out of the environment, so that no child of this process finds them. */
choir_status pmi_open(const choir_bootstrap *bootstrap, struct pmi *out);
choir_status pmi_name(const struct pmi *pmi);
void pmi_forget(void);
void pmi_close(struct pmi *pmi);

/* pmi_serve: answers the requests that come within timeout_ms.  A barrier is the bootstrap's gather, and blocks in it.
 * TRANSPORT if the gather fails, MPICH closes its end, or asks for what PMI-1 does not have. */
choir_status pmi_serve(struct pmi *pmi, int timeout_ms);

/* pmi_gather: the bootstrap's, of at least 1 byte; TRANSPORT if it fails, or lacks what this process gave. */
choir_status pmi_gather(const choir_bootstrap *bootstrap, const void *mine, size_t bytes, void *all);

#endif
