/* SPDX-License-Identifier: MIT */
/* Note [porter].  Processes in different user or pid namespaces of one machine, and one network namespace, reach each
 * other by sockets with abstract names.  A request is one datagram and so is its answer, which has the descriptor
 * (SCM_RIGHTS): the porter waits for no stranger, and nobody but the porter can answer.  The secret comes to the peers
 * with the other facts of the bootstrap, and a descriptor is handed out only if its file is the one that the peer has
 * been told of.  The thread and its socket belong to one process: a forked child closes the socket and has no porter.
 */
#include "node/porter.h"

#include "base/error.h"
#include "base/fork_lock.h"
#include "base/thread_start.h"
#include "base/wait.h"
#include "node/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { FETCH_MS = 10000 };

struct request {
	uint64_t secret;
	uint64_t token; /* which the answer repeats */
	int32_t what, fd;
	uint64_t first, second;
};

struct answer {
	uint64_t token;
	int32_t has_descriptor, unused;
};

struct peer {
	struct peer *next;
	int64_t process;
	struct porter_address address;
};

FORK_LOCK(lock)
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct porter_address mine; /* under lock; zero: not started */
static int listening = -1;         /* under lock */
static struct peer *_Atomic peers; /* under lock; never shorter, and whole at any time, for a forked child */

/* The fork handlers do not take `lock`: fork waits for the lock of shared memory (shared.c), and a thread that holds
 * that one may ask a porter, which takes `lock`. */
static void child_forked(void)
{
	if (listening >= 0)
		close(listening);
	listening = -1;
	mine = (struct porter_address){ 0 };
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, child_forked);
}

static socklen_t socket_name(uint64_t name, struct sockaddr_un *out)
{
	int length;

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "choir-%016llx", (unsigned long long)name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* --- what is handed out --- */

static bool is_memory(int fd, uint64_t nonce)
{
	struct shared_head head;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && pread(fd, &head, sizeof head, 0) == sizeof head &&
	       head.magic == SHARED_MAGIC && head.nonce == nonce;
}

static bool is_file(int fd, uint64_t device, uint64_t inode)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && (uint64_t)stat.st_dev == device &&
	       (uint64_t)stat.st_ino == inode;
}

/* A duplicate, since the descriptor's number may soon be another file's; -1 if it is not what the peer means. */
static int find_asked(const struct request *request)
{
	bool right;
	int fd;

	if (request->what == PORTER_SELF)
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	fd = fcntl(request->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	right = request->what == PORTER_MEMORY
	            ? is_memory(fd, request->first)
	            : request->what == PORTER_FILE && is_file(fd, request->first, request->second);
	if (right)
		return fd;
	close(fd);
	return -1;
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_answer(int socket, const struct request *request, int fd, struct sockaddr_un *to, socklen_t to_bytes)
{
	struct answer answer = { .token = request->token, .has_descriptor = fd >= 0 };
	struct iovec bytes = { .iov_base = &answer, .iov_len = sizeof answer };
	union control control = { .bytes = "" };
	struct msghdr message = { .msg_name = to, .msg_namelen = to_bytes, .msg_iov = &bytes, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd),
			                         .cmsg_level = SOL_SOCKET,
			                         .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	}
	(void)!sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL); /* else the peer's time passes */
}

struct porter {
	int socket;
	uint64_t secret;
};

static void *answer_all(void *arg)
{
	struct porter porter = *(struct porter *)arg;

	free(arg);
	for (;;) {
		struct request request;
		struct sockaddr_un from;
		socklen_t from_bytes = sizeof from;
		ssize_t n = recvfrom(porter.socket, &request, sizeof request, 0, (struct sockaddr *)&from, &from_bytes);
		int fd;

		if (n < 0 && errno != EINTR)
			return NULL;
		if (n != sizeof request)
			continue;
		fd = request.secret == porter.secret ? find_asked(&request) : -1;
		send_answer(porter.socket, &request, fd, &from, from_bytes);
		if (fd >= 0)
			close(fd);
	}
}

/* --- the thread --- */

static choir_status start_thread(int socket, uint64_t secret)
{
	struct porter *porter = malloc(sizeof *porter);
	int rc;

	if (porter == NULL)
		return error_no_memory("a porter", sizeof *porter);
	*porter = (struct porter){ .socket = socket, .secret = secret };
	rc = thread_start_detached(answer_all, porter);
	if (rc == 0)
		return CHOIR_SUCCESS;
	free(porter);
	return error_set(CHOIR_NO_MEMORY, "no thread to hand out descriptors: %s", strerror(rc));
}

static choir_status start(void)
{
	struct porter_address address;
	struct sockaddr_un name;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	choir_status st;

	if (fd < 0)
		return error_errno(CHOIR_TRANSPORT, "a socket to hand out descriptors");
	if (getrandom(&address, sizeof address, 0) != sizeof address ||
	    bind(fd, (struct sockaddr *)&name, socket_name(address.name, &name)) != 0) {
		st = error_errno(CHOIR_TRANSPORT, "a name for the socket that hands out descriptors");
		close(fd);
		return st;
	}
	st = start_thread(fd, address.secret);
	if (st != CHOIR_SUCCESS) {
		close(fd);
		return st;
	}
	listening = fd;
	mine = address;
	return CHOIR_SUCCESS;
}

choir_status porter_start(struct porter_address *out)
{
	choir_status st = CHOIR_SUCCESS;

	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&lock);
	if (listening < 0)
		st = start();
	if (st == CHOIR_SUCCESS)
		*out = mine;
	pthread_mutex_unlock(&lock);
	return st;
}

/* --- the peers --- */

static struct peer *find_peer(int64_t process)
{
	struct peer *peer = peers;

	while (peer != NULL && peer->process != process)
		peer = peer->next;
	return peer;
}

choir_status porter_learn(int64_t process, const struct porter_address *address)
{
	struct peer *peer;

	pthread_mutex_lock(&lock);
	peer = find_peer(process);
	if (peer == NULL && (peer = calloc(1, sizeof *peer)) != NULL) {
		peer->process = process;
		peer->next = peers;
		peers = peer;
	}
	if (peer != NULL)
		peer->address = *address;
	pthread_mutex_unlock(&lock);
	return peer != NULL ? CHOIR_SUCCESS : error_no_memory("a peer", sizeof *peer);
}

/* False, and errno, if the socket is not ready by the end. */
static bool is_ready(int socket, short events, int64_t end_ns)
{
	struct pollfd wait = { .fd = socket, .events = events };
	int64_t left_ns = end_ns - wait_now_ns();
	int ready = 0;

	while (left_ns > 0 && (ready = poll(&wait, 1, (int)(left_ns / 1000000) + 1)) < 0 && errno == EINTR)
		left_ns = end_ns - wait_now_ns();
	if (ready <= 0)
		errno = ETIMEDOUT;
	return ready > 0;
}

/* A queue that is full, of a process that is stopped, takes no request. */
static bool send_request(int socket, const struct request *request, int64_t end_ns)
{
	ssize_t n = -1;

	while (n < 0 && is_ready(socket, POLLOUT, end_ns)) {
		n = send(socket, request, sizeof *request, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
	}
	return n == sizeof *request;
}

static int receive_answer(int socket, uint64_t token, int64_t end_ns)
{
	struct answer answer;
	struct iovec bytes = { .iov_base = &answer, .iov_len = sizeof answer };
	union control control = { .bytes = "" };
	struct msghdr message = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	struct cmsghdr *head;
	int fd = -1;

	if (!is_ready(socket, POLLIN, end_ns) ||
	    recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof answer)
		return -1;
	head = CMSG_FIRSTHDR(&message);
	if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(head), sizeof fd);
	errno = EACCES;
	if (fd >= 0 && (answer.token != token || !answer.has_descriptor)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Connected, the socket takes messages from its porter alone.  An unnamed one cannot be answered: the kernel names it
 * afterwards, so no stranger can have sent to it before. */
static int ask(const struct porter_address *address, struct request *request)
{
	struct sockaddr_un name, own = { .sun_family = AF_UNIX };
	socklen_t bytes = socket_name(address->name, &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), found = -1, saved;
	int64_t end_ns = wait_end_ns(FETCH_MS);

	if (fd < 0)
		return -1;
	if (getrandom(&request->token, sizeof request->token, 0) == sizeof request->token &&
	    connect(fd, (struct sockaddr *)&name, bytes) == 0 &&
	    bind(fd, (struct sockaddr *)&own, sizeof own.sun_family) == 0 && send_request(fd, request, end_ns))
		found = receive_answer(fd, request->token, end_ns);
	saved = errno;
	close(fd);
	errno = saved;
	return found;
}

int porter_fetch(int64_t process, enum porter_what what, int fd, uint64_t first, uint64_t second)
{
	struct porter_address address = { 0 };
	struct request request = { .what = what, .fd = fd, .first = first, .second = second };
	struct peer *peer;

	pthread_mutex_lock(&lock);
	peer = find_peer(process);
	if (peer != NULL)
		address = peer->address;
	pthread_mutex_unlock(&lock);
	if (address.secret == 0) {
		errno = ESRCH;
		return -1;
	}
	request.secret = address.secret;
	return ask(&address, &request);
}
