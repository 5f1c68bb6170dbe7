/* SPDX-License-Identifier: MIT */
/* A pidfd becomes readable when its process has exited, reaped or not.  It never refers to a later process with the
 * same number. */
#include "node/arena.h"

#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

int peer_watch_open(int64_t pid)
{
	long fd = syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (fd >= 0)
		return (int)fd;
	return errno == ESRCH ? PEER_WATCH_GONE : -1;
}

static bool dies_within(int watch, int ms)
{
	struct pollfd poll_fd = { .fd = watch, .events = POLLIN };

	if (watch < 0)
		return watch == PEER_WATCH_GONE;
	return poll(&poll_fd, 1, ms) == 1 && (poll_fd.revents & POLLIN) != 0;
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

choir_status peer_lost(int64_t pid)
{
	int watch = peer_watch_open(pid);
	bool dead = dies_within(watch, 100);

	peer_watch_close(watch);
	return dead ? error_prefix(CHOIR_PEER_DEAD, "process %lld is dead", (long long)pid) : CHOIR_TRANSPORT;
}
