/* SPDX-License-Identifier: MIT */
/* Note [finalising together].  UCX closes a TCP connection with a message that the peer must answer.  MPICH 4.0 sends
 * these messages in MPI_Finalize, makes progress until its own are answered, and then waits in a barrier of the
 * launcher, where it makes no progress.  A process that makes progress before its MPI_Finalize answers a peer that is
 * inside.  The peer goes on to the launcher's barrier, and nobody answers the process any more: both wait for ever.  A
 * barrier of MPI does not help: whoever is still in it makes progress.
 *
 * So all processes meet first, and then tell each other, by a barrier of the launcher as well, that they have stopped
 * making progress.  Each then sends its own messages before it answers one, and a connection keeps this order. */
#include "mpi/finalise.h"

#include "mpi/call.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { NOT_NOTED = -2, NO_LAUNCHER = -1 };
static _Atomic int launcher = NOT_NOTED; /* the descriptor by which MPICH speaks to its launcher */

/* MPICH's other devices finalise without answers; only PMI-1 has a descriptor that takes lines of text. */
static int find_launcher(void)
{
	static const char device[] = "MPICH Device:\tch4:ucx";
	char *version = calloc(1, MPI_MAX_LIBRARY_VERSION_STRING + 1);
	const char *fd = getenv("PMI_FD");
	int length = 0, found = NO_LAUNCHER;

	if (version != NULL && fd != NULL && MPI_Get_library_version(version, &length) == MPI_SUCCESS &&
	    strstr(version, device) != NULL && strstr(version, "--with-pmi") == NULL)
		found = atoi(fd);
	free(version);
	return found;
}

void finalise_note(MPI_Comm comm)
{
	int same = MPI_UNEQUAL;

	if (atomic_load(&launcher) == NOT_NOTED && MPI_Comm_compare(comm, MPI_COMM_WORLD, &same) == MPI_SUCCESS &&
	    same != MPI_UNEQUAL)
		atomic_store(&launcher, find_launcher());
}

/* TOGETHER: all processes have come here, and all have a launcher. */
static enum finalise_met gather_all(int64_t deadline_ms)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int mine = atomic_load(&launcher) >= 0, *least = malloc(sizeof *least), rc;
	bool agreed;

	if (least == NULL || !mpi_enter()) {
		free(least);
		return FINALISE_APART;
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	*least = mine;
	rc = MPI_Iallreduce(MPI_IN_PLACE, least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
	mpi_leave();
	if (rc != MPI_SUCCESS || mpi_wait_done(&request, deadline_ms, "finalising MPI") != CHOIR_SUCCESS) {
		mpi_quarantine(least);
		return FINALISE_MISSED;
	}
	agreed = *least != 0;
	free(least);
	return agreed ? FINALISE_TOGETHER : FINALISE_APART;
}

static bool enter_barrier(void)
{
	static const char line[] = "cmd=barrier_in\n";

	return send(atomic_load(&launcher), line, sizeof line - 1, MSG_NOSIGNAL) == sizeof line - 1;
}

static bool is_answered(int timeout_ms)
{
	struct pollfd wait = { .fd = atomic_load(&launcher), .events = POLLIN };

	return poll(&wait, 1, timeout_ms) > 0;
}

/* False if the launcher is gone. */
static bool read_byte(char *out)
{
	ssize_t n = recv(atomic_load(&launcher), out, 1, MSG_DONTWAIT);

	return n == 1 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static void make_progress(void)
{
	int found;

	if (!mpi_enter())
		return;
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
	mpi_leave();
}

/* The launcher's answer is one line; it sends nothing else without a request.  False after deadline_ms, or if the
 * launcher is gone. */
static bool pass_barrier(int64_t deadline_ms, bool progress)
{
	int64_t start = mpi_now_ms();
	char byte = '\0';

	if (!enter_barrier())
		return false;
	while (byte != '\n') {
		bool answered = is_answered(progress ? 0 : 100);

		if (mpi_now_ms() - start > deadline_ms || (answered && !read_byte(&byte)))
			return false;
		if (progress && !answered) {
			make_progress();
			sched_yield();
		}
	}
	return true;
}

/* Where the last process came at the deadline the others wait for it all the same, as it does for them: for least_ms.
 */
static int64_t left_of(int64_t deadline_ms, int64_t start, int64_t least_ms)
{
	int64_t left = deadline_ms - (mpi_now_ms() - start);

	return left > least_ms ? left : least_ms;
}

/* Who has passed the second barrier finalises, which waits for all.  So only a process that has died, or stands still
 * for SECOND_MS, is to miss it. */
enum finalise_met finalise_meet(int64_t deadline_ms, void (*stop)(void))
{
	enum { FIRST_MS = 1000, SECOND_MS = 10000 };
	int64_t start = mpi_now_ms();
	enum finalise_met met = atomic_load(&launcher) != NOT_NOTED ? gather_all(deadline_ms) : FINALISE_APART;

	if (met == FINALISE_TOGETHER && !pass_barrier(left_of(deadline_ms, start, FIRST_MS), true))
		met = FINALISE_MISSED;
	stop();
	if (met == FINALISE_TOGETHER && !pass_barrier(left_of(deadline_ms, start, SECOND_MS), false))
		met = FINALISE_MISSED;
	return met;
}
