/* SPDX-License-Identifier: MIT */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool says(char *error, const char *path, const char *why)
{
	snprintf(error, OUTFILE_ERROR_BYTES, "%s %s", path, why);
	return false;
}

static bool says_errno(char *error, const char *path)
{
	snprintf(error, OUTFILE_ERROR_BYTES, "%s cannot be written: %s", path, strerror(errno));
	return false;
}

bool outfile_ready(const char *path, char error[OUTFILE_ERROR_BYTES])
{
	int fd;

	if (path == NULL || strcmp(path, "-") == 0)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return says_errno(error, path);
	close(fd);
	return true;
}

bool outfile_ready_to_draw(const char *path, char error[OUTFILE_ERROR_BYTES])
{
	const char *dot = path != NULL ? strrchr(path, '.') : NULL;

	if (path != NULL && (dot == NULL || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0)))
		return says(error, path, "is no picture: its name must end in .svg or .png");
	return outfile_ready(path, error);
}

/* Installed it stands beside the program, in a build folder in the folder of its own. */
static bool find_choir_plot(char path[PATH_MAX + 32])
{
	static const char *const places[] = { "choir-plot", "../plot/choir-plot" };
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash = NULL;

	if (length > 0) {
		path[length] = '\0';
		slash = strrchr(path, '/');
	}
	for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
		strcpy(slash + 1, places[i]);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* choir-plot reads the run on its standard input, and has said why if it failed. */
static bool run_choir_plot(const char *program, const char *path, int run_fd)
{
	char *const argv[] = { (char *)"choir-plot", (char *)path, (char *)"-", NULL };
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t child;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, run_fd, STDIN_FILENO);
	errno = posix_spawn(&child, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return errno == 0 && waitpid(child, &status, 0) == child && status == 0;
}

bool outfile_draw(const char *path, const json_t *run, char error[OUTFILE_ERROR_BYTES])
{
	char program[PATH_MAX + 32];
	bool drawn;
	int fd;

	if (!find_choir_plot(program))
		return says(error, path, "was not drawn: there is no choir-plot beside this program");
	fd = memfd_create("run", MFD_CLOEXEC);
	if (fd < 0 || json_dumpfd(run, fd, JSON_REAL_PRECISION(9)) != 0 || lseek(fd, 0, SEEK_SET) != 0)
		return says_errno(error, path);
	drawn = run_choir_plot(program, path, fd);
	close(fd);
	return drawn || says(error, path, "was not drawn: it takes python3 and gnuplot");
}
