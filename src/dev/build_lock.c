/* SPDX-License-Identifier: MIT */
#include "dev/program.h"

#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_US    5000
#define LONGEST_NS INT64_C(10000000000)

int build_lock_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat file;

	if (fd < 0)
		return -1;
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
	    (file.st_mode & (S_IRWXG | S_IRWXO)) == 0)
		return fd;
	log_text(LOG_WARNING, "%s is not a regular file that only this user can open: it is not used as the build lock",
	         path);
	close(fd);
	return -1;
}

/* The lock file is in XDG_RUNTIME_DIR, else in /tmp under a name with the user's number. */
static int open_lock(void)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char path[4096];
	int fd = -1;

	if (folder != NULL && folder[0] == '/' &&
	    snprintf(path, sizeof path, "%s/choir-build.lock", folder) < (int)sizeof path)
		fd = build_lock_open(path);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/tmp/choir-build-%u.lock", (unsigned)geteuid());
	return build_lock_open(path);
}

int build_lock_take(int64_t until_ns)
{
	int64_t start = program_now_ns(), left = (until_ns - start) / 2,
		longest = left < LONGEST_NS ? left : LONGEST_NS;
	int fd = open_lock();

	if (fd < 0) {
		log_text(LOG_INFO, "no build lock: processes may build kernels at the same time");
		return -1;
	}
	/* Polled, since flock has no deadline: a process that hangs in its compiler must not hang this one. */
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (program_now_ns() - start >= longest) {
			log_text(
			    LOG_WARNING,
			    "another process has been building kernels for %.1f s; building without waiting for it",
			    (double)(program_now_ns() - start) * 1e-9);
			close(fd);
			return -1;
		}
		wait_sleep_us(POLL_US);
	}
	return fd;
}

void build_lock_give(int fd)
{
	if (fd >= 0)
		close(fd);
}
