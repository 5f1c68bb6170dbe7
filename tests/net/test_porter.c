/* SPDX-License-Identifier: MIT */
/* A process hands its descriptors to those that know its secret, and only what they name rightly. */
#include "node/porter.h"

#include "node/arena.h"
#include "node/process_id.h"
#include "node/shared.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

struct offer {
	struct shared_map map;
	struct porter_address address;
	int64_t process;
	int until; /* the owner ends when this pipe does */
	int to;
};

static bool is_refused(int64_t process, enum porter_what what, int fd, uint64_t first)
{
	errno = 0;
	return porter_fetch(process, what, fd, first, 0) == -1 && errno == EACCES;
}

/* The owner, a child: tells where it can be asked, and waits. */
static void own(void *ctx)
{
	struct offer *offer = ctx;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	REQUIRE(shared_make("choir-test", 4096, &offer->map) == CHOIR_SUCCESS);
	((unsigned char *)offer->map.base)[4000] = 42;
	REQUIRE(porter_start(&offer->address) == CHOIR_SUCCESS);
	offer->process = process_id();
	REQUIRE(write(offer->to, offer, sizeof *offer) == sizeof *offer);
	(void)!read(offer->until, &byte, 1);
}

static void descriptors_are_handed_out(void **state)
{
	struct offer offer = { 0 };
	struct porter_address wrong;
	int until[2], told[2], file;
	unsigned char byte = 0;
	siginfo_t info;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(until) | pipe(told), 0);
	offer.until = until[0];
	offer.to = told[1];
	pid = start_child(own, &offer);
	assert_int_equal(read(told[0], &offer, sizeof offer), sizeof offer);
	assert_int_equal(porter_fetch(offer.process, PORTER_SELF, -1, 0, 0), -1);
	assert_int_equal(errno, ESRCH); /* nobody has told yet how to ask */

	wrong = offer.address;
	wrong.secret ^= 1;
	assert_int_equal(porter_learn(offer.process, &wrong), CHOIR_SUCCESS);
	assert_true(is_refused(offer.process, PORTER_MEMORY, offer.map.fd, offer.map.nonce));
	assert_true(is_refused(offer.process, PORTER_SELF, -1, 0));

	assert_int_equal(porter_learn(offer.process, &offer.address), CHOIR_SUCCESS);
	file = porter_fetch(offer.process, PORTER_MEMORY, offer.map.fd, offer.map.nonce, 0);
	assert_true(file >= 0);
	assert_int_equal(pread(file, &byte, 1, 4000), 1);
	assert_int_equal(byte, 42);
	close(file);
	assert_true(is_refused(offer.process, PORTER_MEMORY, offer.map.fd, offer.map.nonce ^ 1));
	assert_true(is_refused(offer.process, PORTER_MEMORY, until[0], offer.map.nonce));
	assert_true(is_refused(offer.process, PORTER_FILE, offer.map.fd, 0));
	assert_true(is_refused(offer.process, (enum porter_what)9, offer.map.fd, offer.map.nonce));

	file = porter_fetch(offer.process, PORTER_SELF, -1, 0, 0);
	assert_false(peer_watch_dead(file));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_true(peer_watch_dead(file));
	close(file);
	assert_int_equal(porter_fetch(offer.process, PORTER_SELF, -1, 0, 0), -1);
	assert_int_equal(errno, ECONNREFUSED);
	for (int end = 0; end < 2; end++)
		close(until[end]), close(told[end]);
}

/* The parent's socket is not the child's, which can have one of its own. */
static void start_again(void *ctx)
{
	struct porter_address *parents = ctx, mine;
	int file;

	REQUIRE(porter_learn(process_id_of(getppid()), parents) == CHOIR_SUCCESS);
	REQUIRE(porter_start(&mine) == CHOIR_SUCCESS);
	REQUIRE(mine.name != parents->name && mine.secret != parents->secret);
	file = porter_fetch(process_id_of(getppid()), PORTER_SELF, -1, 0, 0);
	REQUIRE(file >= 0);
	close(file);
}

static void a_forked_child_has_its_own(void **state)
{
	struct porter_address mine, again;

	(void)state;
	assert_int_equal(porter_start(&mine), CHOIR_SUCCESS);
	assert_int_equal(porter_start(&again), CHOIR_SUCCESS);
	assert_memory_equal(&mine, &again, sizeof mine);
	end_child(start_child(start_again, &mine));
}

/* --- while the process is stopped --- */

struct stopped {
	struct offer offer;
	int until[2];
	pid_t pid;
};

static void start_stopped(struct stopped *stopped)
{
	int told[2];
	siginfo_t info;

	assert_int_equal(pipe(stopped->until) | pipe(told), 0);
	stopped->offer = (struct offer){ .until = stopped->until[0], .to = told[1] };
	stopped->pid = start_child(own, &stopped->offer);
	assert_int_equal(read(told[0], &stopped->offer, sizeof stopped->offer), sizeof stopped->offer);
	close(told[0]), close(told[1]);
	assert_int_equal(porter_learn(stopped->offer.process, &stopped->offer.address), CHOIR_SUCCESS);
	assert_int_equal(kill(stopped->pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)stopped->pid, &info, WSTOPPED), 0);
}

static void end_stopped(struct stopped *stopped)
{
	siginfo_t info;

	assert_int_equal(kill(stopped->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)stopped->pid, &info, WEXITED), 0);
	close(stopped->until[0]), close(stopped->until[1]);
}

static void *fetch(void *arg)
{
	const struct offer *offer = arg;

	return (void *)(intptr_t)porter_fetch(offer->process, PORTER_MEMORY, offer->map.fd, offer->map.nonce, 0);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The name, five digits, that the kernel gave a socket of this process. */
static socklen_t find_asker(struct sockaddr_un *out)
{
	for (;; sched_yield())
		for (int fd = 3; fd < 1024; fd++) {
			socklen_t bytes = sizeof *out;

			if (getsockname(fd, (struct sockaddr *)out, &bytes) == 0 && out->sun_family == AF_UNIX &&
			    bytes == sizeof out->sun_family + 6)
				return bytes;
		}
}

/* Two descriptors in a message of the wrong size. */
static void send_nonsense(int stranger, struct sockaddr_un *to, socklen_t to_bytes)
{
	int both[2] = { 0, 1 };
	char byte = 0;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof both)];
	} control = { .bytes = "" };
	struct iovec bytes = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_name = to,
		                  .msg_namelen = to_bytes,
		                  .msg_iov = &bytes,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };

	control.head =
	    (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof both), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), both, sizeof both);
	(void)!sendmsg(stranger, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void strangers_do_not_answer(void **state)
{
	int stranger = socket(AF_UNIX, SOCK_DGRAM, 0), before;
	struct stopped stopped;
	struct sockaddr_un asker;
	pthread_t thread;
	void *file;

	(void)state;
	start_stopped(&stopped);
	before = count_descriptors();
	assert_int_equal(pthread_create(&thread, NULL, fetch, &stopped.offer), 0);
	send_nonsense(stranger, &asker, find_asker(&asker));
	assert_int_equal(kill(stopped.pid, SIGCONT), 0);
	assert_int_equal(pthread_join(thread, &file), 0);
	assert_true((intptr_t)file >= 0);
	close((int)(intptr_t)file);
	assert_int_equal(count_descriptors(), before);
	end_stopped(&stopped);
	close(stranger);
}

static void hear_alarm(int signal)
{
	(void)signal;
}

/* Its socket's queue is full, and a profiler interrupts the wait. */
static void the_wait_ends(void **state)
{
	struct sigaction action = { .sa_handler = hear_alarm }, old;
	struct itimerval often = { { 0, 100000 }, { 0, 100000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int filler = socket(AF_UNIX, SOCK_DGRAM, 0), length;
	struct stopped stopped;

	(void)state;
	start_stopped(&stopped);
	length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "choir-%016llx",
	                  (unsigned long long)stopped.offer.address.name);
	assert_int_equal(connect(filler, (struct sockaddr *)&name, sizeof name.sun_family + 1 + (socklen_t)length), 0);
	while (send(filler, "", 1, MSG_DONTWAIT) == 1)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(porter_fetch(stopped.offer.process, PORTER_SELF, -1, 0, 0), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	end_stopped(&stopped);
	close(filler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_are_handed_out),
		cmocka_unit_test(a_forked_child_has_its_own),
		cmocka_unit_test(strangers_do_not_answer),
		cmocka_unit_test(the_wait_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
