/* SPDX-License-Identifier: MIT */
#include "dev/program.h"

#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 5
#define LIMIT_MS 120000

/* A file of the user's own: in the user's run-time folder, else in the common one under a name with the user's number. */
static int open_lock(void)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char path[4096];
	int fd = -1;

	if (folder != NULL && folder[0] == '/' && snprintf(path, sizeof path, "%s/choir-build.lock", folder) < (int)sizeof path)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/tmp/choir-build-%u.lock", (unsigned)getuid());
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int build_lock_take(void)
{
	int fd = open_lock();

	if (fd < 0) {
		log_text(LOG_INFO, "no build lock: processes may build kernels at the same time");
		return -1;
	}
	/* Tried in steps, not waited for: a process that hangs in its compiler must not hang us. */
	for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += POLL_MS) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
	}
	log_text(LOG_WARNING, "another process has been building kernels for %d s; building without waiting for it", LIMIT_MS / 1000);
	close(fd);
	return -1;
}

void build_lock_give(int fd)
{
	if (fd >= 0)
		close(fd);
}
