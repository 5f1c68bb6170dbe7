/* SPDX-License-Identifier: MIT */
/* What a comm costs: little memory until a call needs more, and nothing once it is gone. */
#include "exec/comm.h"
#include "world/gate.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SMALL_BYTES = 256 << 10, SPLITS = 300, LARGE = 20000 };

/* The arena's memory.  All ranks are threads, so there is one descriptor of it. */
static uint64_t arena_memory(choir_comm *comm)
{
	struct arena_address address;
	struct stat stat;

	arena_address(comm->arena, &address);
	return fstat(address.fd, &stat) == 0 ? (uint64_t)stat.st_blocks * 512 : UINT64_MAX;
}

static choir_status sum_by(choir_comm *comm, size_t count, const char *options)
{
	choir_call call = CHOIR_CALL_INIT;
	struct sum sum;
	choir_status st;

	call.options = options;
	st = sum_start(&sum, comm, count, 1, &call, false);
	if (st == CHOIR_SUCCESS && !sum_is(&sum, comm->n))
		st = CHOIR_TRANSPORT;
	sum_free(&sum);
	return st;
}

static choir_status pass_on(choir_comm *comm)
{
	int mine = comm->rank, theirs = -1, next = (comm->rank + 1) % comm->n,
	    before = (comm->rank + comm->n - 1) % comm->n;

	choir_status st =
	    choir_sendrecv(comm, choir_host(&mine), 1, next, choir_host(&theirs), 1, before, CHOIR_I32, NULL, NULL);

	return st != CHOIR_SUCCESS || theirs == before ? st : CHOIR_TRANSPORT;
}

static void memory(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *child = NULL;
	uint64_t before;

	(void)arg;
	OK(choir_comm_split(comm, 0, rank, &child));
	line_up();
	before = arena_memory(child);
	CHECK(before <= SMALL_BYTES);
	line_up();
	for (int i = 0; i < 20; i++) {
		OK(sum_by(child, 4, "algorithm=oneshot"));
		OK(choir_barrier(child, NULL, NULL));
	}
	line_up();
	CHECK(arena_memory(child) == before);
	line_up();
	OK(sum_by(child, 500, "algorithm=oneshot"));
	line_up();
	CHECK(arena_memory(child) > before && arena_memory(child) <= before + (uint64_t)world->n * SMALL_BYTES / 4);
	line_up();
	OK(sum_by(child, LARGE, "algorithm=oneshot"));
	OK(sum_by(child, LARGE, "algorithm=twoshot"));
	OK(pass_on(child));
	line_up();
	CHECK(arena_memory(child) > (1 << 20));
	OK(choir_comm_destroy(child));
}

/* Descriptors of this process for what the library makes: shared memory and watches.  Drivers open others as they
 * like. */
static int n_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[256];
	int n = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		ssize_t bytes = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);

		target[bytes > 0 ? bytes : 0] = '\0';
		n += strstr(target, "memfd:choir") != NULL || strstr(target, "[pidfd]") != NULL;
	}
	closedir(dir);
	return n;
}

/* Mappings of our shared memory. */
static int n_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		n += strstr(line, "memfd:choir") != NULL;
	fclose(file);
	return n;
}

static void over_and_over(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *child = NULL;
	int files = 0, mappings = 0;

	(void)arg;
	for (int i = 0; i < SPLITS; i++) {
		if (i == 1) { /* what the first one left in the parent stays */
			line_up();
			files = n_files();
			mappings = n_mappings();
			line_up();
		}
		OK(choir_comm_split(comm, 0, -rank, &child));
		if (i % 50 == 0)
			OK(sum_by(child, LARGE, "algorithm=oneshot"));
		OK(choir_comm_destroy(child));
	}
	line_up();
	CHECK(n_files() == files);
	CHECK(n_mappings() == mappings);
	line_up();
}

enum { SPLIT_GATHERS = 3, RANKS = 8 };

/* Those of splits have a tag. */
static uint64_t n_messages(const choir_comm *comm)
{
	const struct tagged *tagged = &comm->submission.tagged;
	uint64_t n = 0;

	for (size_t b = 0; b < tagged->n_buckets; b++)
		for (const struct tagged_counts *counts = tagged->buckets[b]; counts != NULL; counts = counts->next)
			n += counts->sent;
	return n;
}

/* Claims, the arena's address, whether all have their comms: three allgathers if all ranks have one color; with two
 * colors one, and two rounds of messages for each doubling of what a rank has. */
static void gathers(struct world *world, int rank, choir_comm *comm, void *arg)
{
	uint64_t calls = comm->submission.next_seq, messages = n_messages(comm);
	choir_comm *child = NULL;

	(void)arg;
	OK(choir_comm_split(comm, 0, -rank, &child));
	CHECK(comm->submission.next_seq - calls == SPLIT_GATHERS);
	CHECK(n_messages(comm) == messages);
	CHECK(sum_works(child, 3) && choir_comm_rank(child) == RANKS - 1 - rank);
	OK(choir_comm_destroy(child));
	calls = comm->submission.next_seq;
	OK(choir_comm_split(comm, rank % 2, rank, &child));
	CHECK(comm->submission.next_seq - calls == 1);
	CHECK(n_messages(comm) - messages == 2 * (SPLIT_GATHERS - 1));
	CHECK(sum_works(child, 3) && choir_comm_size(child) == RANKS / 2);
	OK(choir_comm_destroy(child));
}

/* The slots cannot be had: all ranks are told so, and the parent goes on. */
static void none_left(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *child = NULL;
	struct arena_address address;

	(void)arg;
	OK(choir_comm_split(comm, 0, rank, &child));
	arena_address(child->arena, &address);
	line_up();
	if (rank == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		CHECK(dup2(null, address.fd) == address.fd); /* no memory comes from there */
		close(null);
	}
	line_up();
	CHECK(sum_works(child, 1));
	OK(pass_on(child));
	line_up();
	SAYS(sum_by(child, LARGE, "algorithm=oneshot"), CHOIR_NO_MEMORY, "allreduce|no memory for choir-arena");
	CHECK(sum_works(comm, LARGE));
	OK(choir_comm_destroy(child));
}

static void test_memory(void **state)
{
	(void)state;
	line_up_run(2, 0, 20000, memory, NULL);
	line_up_run(5, 0, 20000, memory, NULL);
	line_up_run(16, 0, 60000, memory, NULL);
}
static void test_over_and_over(void **state)
{
	(void)state;
	line_up_run(2, 0, 20000, over_and_over, NULL);
}
static void test_gathers(void **state)
{
	(void)state;
	line_up_layouts(RANKS, gathers);
}

static void test_none_left(void **state)
{
	(void)state;
	line_up_run(2, 0, 20000, none_left, NULL);
}

/* Rank 0 sends; then all split in two; then rank 1 receives: the messages of the split are others. */
static void splits_between(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const unsigned char sent[] = "message";
	unsigned char got[sizeof sent] = "";
	choir_event *event = NULL;
	choir_comm *child = NULL;

	(void)arg;
	if (rank == 0)
		OK(choir_send(comm, choir_host((void *)sent), sizeof sent, CHOIR_U8, 1, NULL, &event));
	line_up();
	OK(choir_comm_split(comm, rank / 2, rank, &child));
	OK(sum_by(child, 4, NULL));
	line_up();
	if (rank == 1)
		OK(choir_recv(comm, choir_host(got), sizeof got, CHOIR_U8, 0, NULL, NULL));
	CHECK(rank != 1 || memcmp(got, sent, sizeof got) == 0);
	if (event != NULL)
		OK(choir_event_wait(event, -1));
	choir_event_release(event);
	choir_comm_destroy(child);
}

static void test_between(void **state)
{
	(void)state;
	line_up_layouts(4, splits_between);
}

/* Sentences of a split name ranks of the parent, not numbers among those of the color. */
static void splits_that_differ(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *child = NULL;

	(void)unused;
	config.keyed = rank == 3;
	if (rank % 2 == 0) {
		OK(choir_comm_split(comm, 0, 0, &child));
	} else {
		IS(choir_comm_split_config(comm, 1, 0, &config, &child), CHOIR_MISMATCH);
		CHECK(strstr(choir_last_error(), rank == 3 ? "rank 1 wants an ordered comm, rank 3 a keyed one"
		                                           : "rank 3 wants a keyed comm, rank 1 an ordered one"));
	}
	choir_comm_destroy(child);
}

static void test_ranks_of_the_parent(void **state)
{
	(void)state;
	world_run_at(4, 0, 60000, splits_that_differ, NULL);
}

/* Who waits for a rank that does not come learns what for. */
static void rank_1_is_late(struct world *world, int rank, choir_comm *comm, void *group)
{
	static const int both[] = { 0, 1 };
	choir_comm *child = NULL;

	(void)world;
	if (rank == 1)
		return;
	if (group != NULL)
		SAYS(choir_comm_create_group(comm, "pair", both, 2, NULL, &child), CHOIR_TIMEOUT,
		     "'choir_comm_create_group' with|rank 1");
	else
		SAYS(choir_comm_split(comm, 0, 0, &child), CHOIR_TIMEOUT, "'choir_comm_split' (|rank 1");
}

static void test_late(void **state)
{
	bool group = true;

	(void)state;
	for (int per_node = 1; per_node <= 2; per_node++) {
		world_run_at(2, per_node, 200, rank_1_is_late, NULL);
		world_run_at(2, per_node, 200, rank_1_is_late, &group);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),    cmocka_unit_test(test_over_and_over),
		cmocka_unit_test(test_none_left), cmocka_unit_test(test_gathers),
		cmocka_unit_test(test_between),   cmocka_unit_test(test_ranks_of_the_parent),
		cmocka_unit_test(test_late),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
