/* SPDX-License-Identifier: MIT */
/* The calls of MPI: threads inside it, error sentences, bounded waits. */
#ifndef MPI_CALL_H
#define MPI_CALL_H

#include <choir/types.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define TRY(expr)                                                                                                      \
	do {                                                                                                           \
		choir_status try_st_ = (expr);                                                                         \
		if (try_st_ != CHOIR_SUCCESS)                                                                          \
			return try_st_;                                                                                \
	} while (0)

/* mpi_close: waits for the threads inside MPI; every later mpi_enter returns false. */
void mpi_open(int thread_level, bool watched);

/* mpi_close: waits for the threads inside MPI, and lets nobody in any more. */
void mpi_close(void);

/* mpi_level: the thread level MPI runs at; mpi_level_name: "MPI_THREAD_MULTIPLE". */
int mpi_level(void);
const char *mpi_level_name(int level);

/* mpi_enter, mpi_leave: around every group of MPI calls that does not wait.  Below MPI_THREAD_MULTIPLE one thread at a
 * time.  false: MPI is finalised, make no call (and do not leave). */
bool mpi_enter(void);
void mpi_leave(void);

/* mpi_error: TRANSPORT with MPI's own text. */
choir_status mpi_error(const char *call, int rc);

/* mpi_gone: ABORTED, since MPI is finalised. */
choir_status mpi_gone(const char *who);

/* mpi_narrow: the one place where bytes become an MPI count.  UNSUPPORTED if it does not fit. */
choir_status mpi_narrow(const char *what, size_t bytes, int *count_p);

/* mpi_wait_done: tests until it is done, yielding the processor in between; never a blocking MPI call.  TIMEOUT after
 * deadline_ms: the request is then abandoned, and its memory must stay (mpi_quarantine).  what: "duplicating the
 * communicator". */
choir_status mpi_wait_done(MPI_Request *request, int64_t deadline_ms, const char *what);

/* mpi_quarantine: malloc'ed memory that MPI may still write to; kept for ever.  NULL is silent. */
void mpi_quarantine(void *memory);

int64_t mpi_now_ms(void);

#endif
