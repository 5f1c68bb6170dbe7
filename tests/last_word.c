/* SPDX-License-Identifier: MIT */
/* In every test program: says where the process ends if a thread other than the main one ends it.
 *
 * cmocka calls exit in the thread that a signal such as SIGSEGV meets, or whose assertion fails, and has nothing to say
 * of the signal there: ctest shows a test that failed without a word.  The handler of exit runs in that thread still,
 * upon the frames that led there; addr2line -f -e PROGRAM OFFSET names them. */
#include <execinfo.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_FRAMES = 64 };

static void say_where(void)
{
	static const char text[] = "\nThe process ends in a thread that is not the main one (a signal, or an assertion "
				   "that failed there), called from:\n";
	void *frames[MOST_FRAMES];
	int n;

	if (syscall(SYS_gettid) == getpid())
		return;
	n = backtrace(frames, MOST_FRAMES);
	if (write(STDERR_FILENO, text, sizeof text - 1) > 0)
		backtrace_symbols_fd(frames, n, STDERR_FILENO);
}

__attribute__((constructor)) static void register_say_where(void)
{
	atexit(say_where);
}
