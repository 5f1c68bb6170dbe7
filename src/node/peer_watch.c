/* SPDX-License-Identifier: MIT */
/* A pidfd becomes readable when its process has exited, reaped or not.  It never refers to a later process with the
 * same number. */
#include "node/arena.h"

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/wait.h"
#include "node/porter.h"
#include "node/process_id.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of a process that is not visible here its porter has a pidfd; the porter's end is the process's. */
static int open_far(int64_t process)
{
	int fd = porter_fetch(process, PORTER_SELF, -1, 0, 0);

	return fd < 0 && errno == ECONNREFUSED ? PEER_WATCH_GONE : fd;
}

int peer_watch_open(int64_t process)
{
	long fd;

	if (!process_is_visible(process))
		return open_far(process);
	fd = syscall(SYS_pidfd_open, (pid_t)process_pid(process), 0);
	if (fd >= 0)
		return (int)fd;
	return errno == ESRCH ? PEER_WATCH_GONE : -1;
}

static bool dies_within(int watch, int ms)
{
	struct pollfd poll_fd = { .fd = watch, .events = POLLIN };
	int64_t now = wait_now_ns(), end = wait_end_after(now, ms);
	int rc;

	if (watch < 0)
		return watch == PEER_WATCH_GONE;
	while ((rc = poll(&poll_fd, 1, (int)((end - now) / 1000000))) < 0 && errno == EINTR && now < end)
		now = min_i64(wait_now_ns(), end);
	return rc == 1 && (poll_fd.revents & POLLIN) != 0;
}

bool peer_watch_dead(int watch)
{
	return dies_within(watch, 0);
}

void peer_watch_close(int watch)
{
	if (watch >= 0)
		close(watch);
}

choir_status peer_lost(int64_t process)
{
	int watch = peer_watch_open(process);
	bool dead = dies_within(watch, 100);

	peer_watch_close(watch);
	return dead ? error_prefix(CHOIR_PEER_DEAD, "process %d is dead", process_pid(process)) : CHOIR_TRANSPORT;
}
