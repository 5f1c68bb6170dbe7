/* SPDX-License-Identifier: MIT */
/* Run by mpiexec on 1 to 4 ranks, also with more ranks than cores: the transport over MPI by its own operations, and what stands around
 * it.  The first argument names the case.  A rank that finds something wrong ends all of them. */
#include "mpi/transport.h"

#include <choir/mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(what)                                                                                                                      \
	do {                                                                                                                               \
		if (!(what)) {                                                                                                             \
			fprintf(stderr, "%s:%d: rank %d: %s does not hold; last error: %s\n", __FILE__, __LINE__, my_rank, #what,          \
			        choir_last_error());                                                                                       \
			MPI_Abort(MPI_COMM_WORLD, 1);                                                                                      \
		}                                                                                                                          \
	} while (0)

enum { DEADLINE_MS = 20000, MESSAGES = 40, WINDOW = 12 };

static int my_rank, my_size;

/* The core is not linked here; what reaches it is noted instead. */
static struct {
	int calls;
	choir_transport *transport;
	int gathered[16];
	bool fail, take;
} core;

choir_status choir_comm_create(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices, const choir_comm_config *config,
                               choir_comm **comms_out)
{
	int mine = bootstrap->rank * 10;

	(void)n_local, (void)devices, (void)comms_out;
	core.calls++;
	core.transport = config->transport;
	if ((core.take || core.fail) && config->transport != NULL)
		config->transport->ops->destroy(config->transport); /* not needed, or the call fails: it is the core's to destroy */
	if (bootstrap->gather(bootstrap->ctx, &mine, sizeof mine, core.gathered) != 0)
		return choir_transport_error(CHOIR_TRANSPORT, "the gather failed");
	if (core.fail)
		return choir_transport_error(CHOIR_UNSUPPORTED, "there is more than one node and no transport");
	return CHOIR_SUCCESS;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t seed_of(int src, int dst, int number)
{
	return mix((uint64_t)src << 40 ^ (uint64_t)dst << 20 ^ (uint64_t)number);
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

static void fill(unsigned char *data, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(seed >> (i % 8 * 8)) ^ (unsigned char)(i * 7);
}

static bool is_filled(const unsigned char *data, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i] != (unsigned char)((unsigned char)(seed >> (i % 8 * 8)) ^ (unsigned char)(i * 7)))
			return false;
	return true;
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

static void case_traffic(void)
{
	choir_transport *t = create();

	all_to_all(t);
	t->ops->destroy(t);
}

/* A token goes round: every hop waits for the one before, so a rank that hogs a core shows. */
static void case_token(void)
{
	enum { ROUNDS = 200 };
	choir_transport *t = create();
	int64_t start = mpi_now_ms();

	for (int round = 0; round < ROUNDS && my_size > 1; round++)
		for (int turn = 0; turn < 2; turn++) {
			if ((my_rank == 0) == (turn == 0)) {
				struct sending sending = { NULL, malloc(1) };

				REQUIRE(t->ops->send(t, (my_rank + 1) % my_size, sending.data, 1, &sending.request) == CHOIR_SUCCESS);
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
		printf("a hop takes %.1f us on %d ranks\n", (double)(mpi_now_ms() - start) * 1000.0 / (ROUNDS * my_size), my_size);
	t->ops->destroy(t);
}

/* Destroyed in another order on every other rank, and messages left behind that must not turn up later. */
static void case_order(void)
{
	for (int i = 0; i < 8; i++) {
		choir_transport *a = create(), *b = create();
		int first = (my_rank + i) % 2;
		static char stray[64];
		void *request = NULL;
		int done = my_size == 1; /* to oneself a send ends when it is received */

		if (!done)
			REQUIRE(a->ops->send(a, (my_rank + 1) % my_size, stray, sizeof stray, &request) == CHOIR_SUCCESS);
		while (!done) {
			REQUIRE(a->ops->test(a, request, &done) == CHOIR_SUCCESS);
			sched_yield();
		}
		(first ? a : b)->ops->destroy(first ? a : b);
		(first ? b : a)->ops->destroy(first ? b : a);
	}
	case_traffic();
}

static void case_abort(void)
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

static void case_too_long(void)
{
	choir_transport *t = create();
	static char byte;
	void *request = NULL;

	REQUIRE(t->ops->send(t, 0, &byte, (size_t)1 << 31, &request) == CHOIR_UNSUPPORTED);
	t->ops->destroy(t);
}

/* Rank 0 does not come. */
static void case_deadline(void)
{
	choir_transport *t = NULL;
	int64_t start = mpi_now_ms();

	if (my_rank != 0) {
		REQUIRE(mpi_transport_create(MPI_COMM_WORLD, 200, &t) == CHOIR_TIMEOUT);
		REQUIRE(mpi_now_ms() - start < 5000);
		REQUIRE(strstr(choir_last_error(), "deadline of 200 ms") != NULL);
	}
}

/* A transport of the application's that counts how often it is destroyed. */
static int destroyed;

static void count_destroy(choir_transport *t)
{
	(void)t;
	destroyed++;
}

static void case_create(void)
{
	static const choir_transport_ops ops = { .struct_size = sizeof ops, .name = "theirs", .destroy = count_destroy };
	choir_transport theirs = { .ops = &ops };
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	REQUIRE(choir_comm_create_mpi(MPI_COMM_NULL, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	REQUIRE(strstr(choir_last_error(), "MPI_COMM_NULL") != NULL);
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, NULL, NULL, &comm) == CHOIR_ARGUMENT);
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 0, &device, NULL, &comm) == CHOIR_ARGUMENT);
	REQUIRE(choir_comm_create_world(1, &device, NULL, NULL) == CHOIR_ARGUMENT);
	config.struct_size = 2;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, &config, &comm) == CHOIR_ARGUMENT);
	REQUIRE(core.calls == 0);
	config = (choir_comm_config)CHOIR_COMM_CONFIG_INIT;
	config.transport = &theirs;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_NULL, 1, &device, &config, &comm) == CHOIR_ARGUMENT && destroyed == 1);
	REQUIRE(choir_comm_create_world(1, NULL, &config, &comm) == CHOIR_ARGUMENT && destroyed == 2);
	core.take = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, &config, &comm) == CHOIR_SUCCESS);
	REQUIRE(core.transport == &theirs && destroyed == 3);
	core.calls = 0;

	core.take = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_SUCCESS);
	REQUIRE(core.calls == 1 && core.transport != NULL);
	for (int r = 0; r < my_size; r++)
		REQUIRE(core.gathered[r] == r * 10);
	REQUIRE(choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_SUCCESS);

	core.fail = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_UNSUPPORTED);
	REQUIRE(strstr(choir_last_error(), "MPI_THREAD") == NULL);
	REQUIRE(choir_finalize_world() == CHOIR_SUCCESS); /* not ours to finalise */
}

static void case_single(void)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_transport *t = NULL;

	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_SUCCESS);
	REQUIRE(core.transport == NULL);
	core.fail = true;
	REQUIRE(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) == CHOIR_UNSUPPORTED);
	REQUIRE(strstr(choir_last_error(), "MPI_THREAD_SINGLE") != NULL && strstr(choir_last_error(), "MPI_THREAD_SERIALIZED") != NULL);
	REQUIRE(mpi_transport_create(MPI_COMM_WORLD, DEADLINE_MS, &t) == CHOIR_UNSUPPORTED);
}

/* Without MPI_Init: world initialises and finalises. */
static int case_world(void)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	int over = 0;

	if (choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm) != CHOIR_ARGUMENT)
		return 1;
	core.take = true;
	REQUIRE(choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_SUCCESS);
	REQUIRE(choir_finalize_world() == CHOIR_SUCCESS);
	MPI_Finalized(&over);
	return over && choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_ARGUMENT ? 0 : 1;
}

/* A transport that outlives MPI makes no call. */
static int case_late(void)
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

static const struct {
	const char *name;
	void (*run)(void);
	int level;
} cases[] = {
	{ "traffic", case_traffic, MPI_THREAD_MULTIPLE },   { "serialized", case_traffic, MPI_THREAD_SERIALIZED },
	{ "token", case_token, MPI_THREAD_MULTIPLE },       { "order", case_order, MPI_THREAD_MULTIPLE },
	{ "abort", case_abort, MPI_THREAD_MULTIPLE },       { "too_long", case_too_long, MPI_THREAD_MULTIPLE },
	{ "deadline", case_deadline, MPI_THREAD_MULTIPLE }, { "create", case_create, MPI_THREAD_MULTIPLE },
	{ "single", case_single, MPI_THREAD_SINGLE },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "traffic";
	int provided;

	if (strcmp(name, "world") == 0)
		return case_world();
	if (strcmp(name, "late") == 0) {
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
		MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
		MPI_Comm_size(MPI_COMM_WORLD, &my_size);
		return case_late();
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(name, cases[i].name) == 0) {
			MPI_Init_thread(&argc, &argv, cases[i].level, &provided);
			MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
			MPI_Comm_size(MPI_COMM_WORLD, &my_size);
			REQUIRE(provided == cases[i].level);
			cases[i].run();
			MPI_Finalize();
			return 0;
		}
	fprintf(stderr, "no case '%s'\n", name);
	return 2;
}
