/* SPDX-License-Identifier: MIT */
#include "fill.h"
#include "mpi_program.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 40, WINDOW = 12 };

static uint64_t seed_of(int src, int dst, int number)
{
	return random_mix((uint64_t)src << 40 ^ (uint64_t)dst << 20 ^ (uint64_t)number);
}

/* Zero, tiny, around eager limits, and up to 4 MB. */
static size_t bytes_of(uint64_t seed)
{
	switch (seed % 8) {
	case 0:
		return 0;
	case 1:
		return 1 + seed / 8 % 16;
	case 2:
	case 3:
		return seed / 8 % 5000;
	case 4:
	case 5:
		return seed / 8 % 70000;
	case 6:
		return seed / 8 % 500000;
	default:
		return seed / 8 % ((4 << 20) + 1);
	}
}

struct sending {
	void *request;
	unsigned char *data;
};

static bool test_one(choir_transport *t, struct sending *sending)
{
	int done = sending->request == NULL;

	if (!done)
		REQUIRE(t->ops->test(t, sending->request, &done) == CHOIR_SUCCESS);
	if (done) {
		free(sending->data);
		sending->data = NULL;
	}
	return done;
}

static bool receive_one(choir_transport *t, int *received)
{
	choir_message message;
	uint64_t seed;
	int arrived = 0;

	REQUIRE(t->ops->poll(t, &message, &arrived) == CHOIR_SUCCESS);
	if (!arrived)
		return false;
	seed = seed_of(message.peer, my_rank, received[message.peer]++);
	REQUIRE(message.bytes == bytes_of(seed)); /* also says that the order is kept */
	REQUIRE((uintptr_t)message.data % 16 == 0);
	REQUIRE(is_filled(message.data, message.bytes, seed));
	t->ops->give(t, &message);
	return true;
}

static void start_one(choir_transport *t, struct sending *sending, int number)
{
	int peer = number % my_size;
	uint64_t seed = seed_of(my_rank, peer, number / my_size);
	size_t bytes = bytes_of(seed);

	sending->data = malloc(bytes + 1);
	REQUIRE(sending->data != NULL);
	fill(sending->data, bytes, seed);
	REQUIRE(t->ops->send(t, peer, sending->data, bytes, &sending->request) == CHOIR_SUCCESS);
}

/* MESSAGES to every rank, oneself included, WINDOW of them in flight at a time. */
static void all_to_all(choir_transport *t)
{
	struct sending window[WINDOW] = { { NULL, NULL } };
	int received[16] = { 0 }, started = 0, total = MESSAGES * my_size, in_flight = 0, got = 0;

	while (started < total || got < total || in_flight > 0) {
		bool progress = false;

		for (int i = 0; i < WINDOW; i++) {
			if (window[i].data != NULL && test_one(t, &window[i])) {
				in_flight--;
				progress = true;
			}
			if (window[i].data == NULL && started < total) {
				start_one(t, &window[i], started++);
				in_flight++;
				progress = true;
			}
		}
		while (receive_one(t, received)) {
			got++;
			progress = true;
		}
		if (!progress)
			sched_yield();
	}
	for (int r = 0; r < my_size; r++)
		REQUIRE(received[r] == MESSAGES);
}

static choir_transport *create(void)
{
	choir_transport *t = NULL;

	REQUIRE(mpi_transport_create(MPI_COMM_WORLD, DEADLINE_MS, &t) == CHOIR_SUCCESS);
	REQUIRE(t->rank == my_rank && t->size == my_size);
	return t;
}

void case_traffic(void)
{
	choir_transport *t = create();

	all_to_all(t);
	t->ops->destroy(t);
}

/* A token goes round: every hop waits for the one before, so a rank that hogs a core shows. */
void case_token(void)
{
	enum { ROUNDS = 200 };
	choir_transport *t = create();
	int64_t start = mpi_now_ms();

	for (int round = 0; round < ROUNDS && my_size > 1; round++)
		for (int turn = 0; turn < 2; turn++) {
			if ((my_rank == 0) == (turn == 0)) {
				struct sending sending = { NULL, malloc(1) };

				REQUIRE(t->ops->send(t, (my_rank + 1) % my_size, sending.data, 1, &sending.request) ==
				        CHOIR_SUCCESS);
				while (!test_one(t, &sending))
					sched_yield();
			} else {
				choir_message message;
				int arrived = 0;

				while (!arrived) {
					REQUIRE(t->ops->poll(t, &message, &arrived) == CHOIR_SUCCESS);
					if (!arrived)
						sched_yield();
				}
				t->ops->give(t, &message);
			}
		}
	if (my_rank == 0 && my_size > 1)
		printf("a hop takes %.1f us on %d ranks\n",
		       (double)(mpi_now_ms() - start) * 1000.0 / (ROUNDS * my_size), my_size);
	t->ops->destroy(t);
}

/* Destroyed in another order on every other rank, and messages left behind that must not turn up later. */
void case_order(void)
{
	for (int i = 0; i < 8; i++) {
		choir_transport *a = create(), *b = create();
		int first = (my_rank + i) % 2;
		static char stray[64];
		void *request = NULL;
		int done = my_size == 1; /* to oneself a send ends when it is received */

		if (!done) {
			REQUIRE(a->ops->send(a, (my_rank + 1) % my_size, stray, sizeof stray, &request) ==
			        CHOIR_SUCCESS);
			done = request == NULL;
		}
		while (!done) {
			REQUIRE(a->ops->test(a, request, &done) == CHOIR_SUCCESS);
			sched_yield();
		}
		(first ? a : b)->ops->destroy(first ? a : b);
		(first ? b : a)->ops->destroy(first ? b : a);
	}
	case_traffic();
}

void case_abort(void)
{
	choir_transport *t = create(), *good = create();
	static char data[1 << 20];
	choir_message message;
	void *request = NULL;
	int flag = 0;

	REQUIRE(t->ops->send(t, (my_rank + 1) % my_size, data, sizeof data, &request) == CHOIR_SUCCESS);
	t->ops->abort(t);
	REQUIRE(t->ops->poll(t, &message, &flag) == CHOIR_ABORTED);
	REQUIRE(t->ops->test(t, request, &flag) == CHOIR_ABORTED);
	REQUIRE(t->ops->send(t, 0, data, 1, &request) == CHOIR_ABORTED);
	t->ops->destroy(t);
	all_to_all(good); /* others go on */
	good->ops->destroy(good);
}

void case_too_long(void)
{
	choir_transport *t = create();
	static char byte;
	void *request = NULL;

	REQUIRE(t->ops->send(t, 0, &byte, (size_t)1 << 31, &request) == CHOIR_UNSUPPORTED);
	t->ops->destroy(t);
}

/* Rank 0 does not come. */
void case_deadline(void)
{
	choir_transport *t = NULL;
	int64_t start = mpi_now_ms();

	if (my_rank != 0) {
		REQUIRE(mpi_transport_create(MPI_COMM_WORLD, 200, &t) == CHOIR_TIMEOUT);
		REQUIRE(mpi_now_ms() - start < 15000);
		REQUIRE(strstr(choir_last_error(), "deadline of 200 ms") != NULL);
	}
}

/* A transport that outlives MPI makes no call. */
int case_late(void)
{
	choir_transport *t = create();
	choir_message message;
	int arrived = 0;

	MPI_Finalize();
	if (t->ops->poll(t, &message, &arrived) != CHOIR_ABORTED)
		return 1;
	t->ops->destroy(t);
	return 0;
}

/* --- a peer that has stopped --- */

enum { LONG = 64000, MANY = 150 };

static bool is_stopped(int pid)
{
	char path[64], text[256] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "r");
	REQUIRE(file != NULL && fgets(text, sizeof text, file) != NULL);
	fclose(file);
	state = strrchr(text, ')');
	return state != NULL && state[2] == 'T';
}

static choir_message receive_any(choir_transport *t)
{
	double end = MPI_Wtime() + DEADLINE_MS / 1e3;
	choir_message message = { .peer = -1 };
	int arrived = 0;

	while (!arrived && MPI_Wtime() < end) {
		REQUIRE(t->ops->poll(t, &message, &arrived) == CHOIR_SUCCESS);
		sched_yield();
	}
	return message;
}

/* Stops, if told to, when the first message has left and the others are announced. */
static void send_and_wait(choir_transport *t, const void *data, size_t bytes, int n, bool stops)
{
	void *requests[MANY];

	for (int i = 0; i < n; i++)
		REQUIRE(t->ops->send(t, 0, data, bytes, &requests[i]) == CHOIR_SUCCESS);
	for (int i = 0, done; i < n; i++) {
		for (done = requests[i] == NULL; !done; sched_yield())
			REQUIRE(t->ops->test(t, requests[i], &done) == CHOIR_SUCCESS);
		if (stops && i == 0)
			raise(SIGSTOP);
	}
}

/* Rank 1 stops when it has announced long messages: those of rank 2 come all the same. */
void case_stopped(void)
{
	static char data[LONG];
	choir_transport *t = create();
	int pids[3], pid = (int)getpid();

	REQUIRE(my_size == 3);
	MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
	if (my_rank == 1)
		send_and_wait(t, data, LONG, MANY, true);
	while (my_rank == 2 && !is_stopped(pids[1]))
		sched_yield();
	if (my_rank == 2)
		send_and_wait(t, data, 8, 1, false);
	for (int left = my_rank == 0 ? MANY + 1 : 0; left > 0; left--) {
		choir_message message = receive_any(t);

		if (message.peer != 1)
			kill(pids[1], SIGCONT);
		REQUIRE(message.peer > 0);
		t->ops->give(t, &message);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	t->ops->destroy(t);
}
