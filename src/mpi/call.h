/* SPDX-License-Identifier: MIT */
/* Calls of MPI: the threads inside MPI, error sentences, bounded waits. */
#ifndef MPI_CALL_H
#define MPI_CALL_H

#include <choir/types.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TRY(expr)                                                                                                      \
	do {                                                                                                           \
		choir_status try_st_ = (expr);                                                                         \
		if (try_st_ != CHOIR_SUCCESS)                                                                          \
			return try_st_;                                                                                \
	} while (0)

/* MPI_LOCK: defines a lock of the process that a forked child finds open: the thread of its parent that held it is not
 * there. */
#define MPI_LOCK(name)                                                                                                 \
	static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                                       \
	static void name##_opens(void)                                                                                 \
	{                                                                                                              \
		name = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;                                                     \
	}                                                                                                              \
	__attribute__((constructor)) static void name##_is_watched(void)                                               \
	{                                                                                                              \
		pthread_atfork(NULL, NULL, name##_opens);                                                              \
	}

/* mpi_open: sets the thread level before the first mpi_enter; watched: MPI_Finalize will call mpi_close. */
void mpi_open(int thread_level, bool watched);

/* mpi_close: waits for the threads inside MPI; every later mpi_enter returns false. */
void mpi_close(void);

/* mpi_begins: before the library initialises MPI: a process that is forked from then on makes no call of MPI, as none
 * does that is forked after the application has initialised it.  mpi_check_process: ARGUMENT in such a process. */
void mpi_begins(void);
choir_status mpi_check_process(const char *call);

/* mpi_level: MPI's thread level; mpi_level_name: its name, "MPI_THREAD_MULTIPLE". */
int mpi_level(void);
const char *mpi_level_name(int level);

/* mpi_enter, mpi_leave: enclose every group of MPI calls; the calls between them must not block.  Below
 * MPI_THREAD_MULTIPLE one thread enters at a time.  false: MPI is finalised, or the parent's: make no call, do not
 * leave. */
bool mpi_enter(void);
void mpi_leave(void);

/* mpi_uses_ucx: MPICH sends by UCX.  MPI is initialised. */
bool mpi_uses_ucx(void);

/* mpi_error: TRANSPORT, with MPI's text for rc; of MPICH's lines the first and the last. */
choir_status mpi_error(const char *call, int rc);

/* mpi_said: puts the call before this thread's last error; returns st.  SUCCESS: does nothing. */
choir_status mpi_said(const char *call, choir_status st);

/* mpi_gone: ABORTED, with the sentence that MPI is finalised. */
choir_status mpi_gone(const char *who);

/* mpi_narrow: bytes as an MPI count, the only such conversion.  UNSUPPORTED if they do not fit. */
choir_status mpi_narrow(const char *what, size_t bytes, int *count_p);

/* mpi_wait_done: tests the request until it is done and yields between tests; it makes no blocking MPI call.  TIMEOUT
 * after deadline_ms: the request is abandoned, and the caller keeps its memory by mpi_quarantine.  what: "duplicating
 * the communicator". */
choir_status mpi_wait_done(MPI_Request *request, int64_t deadline_ms, const char *what);

/* mpi_quarantine: keeps malloc'ed memory for ever, since MPI may still write to it.  NULL is silent. */
void mpi_quarantine(void *memory);

int64_t mpi_now_ms(void);

#endif
