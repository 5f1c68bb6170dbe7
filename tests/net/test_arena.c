/* SPDX-License-Identifier: MIT */
#include "node/arena.h"
#include "node/process_id.h"
#include "page_faults.h"
#include "support.h"

#include <signal.h>
#include <sys/stat.h>

enum { RANKS = 3, LANES = 4, SLOT_BYTES = 8192 };

/* In the environment: the bytes of a page, as other machines have them. */
#define PAGE "CHOIR_TEST_PAGE"

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	const char *page = getenv(PAGE);

	return name == _SC_PAGESIZE && page != NULL ? atol(page) : __real_sysconf(name);
}

static struct arena *create(void)
{
	struct arena *arena = NULL;

	assert_int_equal(arena_create(RANKS, LANES, SLOT_BYTES, &arena), CHOIR_SUCCESS);
	return arena;
}

/* Every part is its own: written with different bytes, all are found again. */
static void parts_do_not_overlap(void **state)
{
	struct arena *arena = create();
	unsigned char *end = (unsigned char *)arena_base(arena) + arena_bytes(arena);

	(void)state;
	for (int rank = 0; rank < RANKS; rank++) {
		assert_int_equal(arena_control(arena, rank)->process, 0);
		arena_control(arena, rank)->process = 100 + rank;
		for (int lane = 0; lane < LANES; lane++) {
			unsigned char *slot = arena_slot(arena, rank, lane);

			assert_int_equal((uintptr_t)slot % 4096, 0);
			assert_true(slot + SLOT_BYTES <= end);
			assert_int_equal(arena_lane(arena, rank, lane)->flag, 0);
			fill(slot, SLOT_BYTES, random_mix((uint64_t)(rank * LANES + lane)));
			memset(arena_lane(arena, rank, lane)->record, rank * LANES + lane, ARENA_RECORD_BYTES);
			arena_publish(arena_lane(arena, rank, lane), ARENA_FLAG(7, (unsigned)lane));
		}
	}
	for (int rank = 0; rank < RANKS; rank++) {
		assert_int_equal(arena_control(arena, rank)->process, 100 + rank);
		for (int lane = 0; lane < LANES; lane++) {
			assert_true(is_filled(arena_slot(arena, rank, lane), SLOT_BYTES,
			                      random_mix((uint64_t)(rank * LANES + lane))));
			assert_int_equal(arena_lane(arena, rank, lane)->record[47], rank * LANES + lane);
			assert_int_equal(arena_lane(arena, rank, lane)->flag, ARENA_FLAG(7, (unsigned)lane));
		}
	}
	assert_int_equal(arena_poisoned(arena, NULL, 0), CHOIR_SUCCESS);
	arena_release(arena);
}

/* Steps of one call are compared in a circle of 16 plans, calls by their number. */
static void steps_come_in_order(void **state)
{
	const uint64_t seq = UINT64_C(1) << 39;

	(void)state;
	for (uint32_t plan = 0; plan < 40; plan++) {
		uint32_t phases[] = { 0, 1, 5000, (1u << 20) - 2 };

		for (int i = 0; i < 4; i++) {
			uint64_t flag = ARENA_FLAG(seq, arena_point(plan, phases[i]));

			for (int k = 0; k < 4; k++) {
				assert_int_equal(arena_reached(flag, seq, arena_point(plan, phases[k])), k <= i);
				assert_false(arena_reached(flag, seq, arena_point(plan + 1, phases[k])));
				assert_true(arena_reached(flag, seq - 1, arena_point(plan + 9, phases[k])));
				assert_false(arena_reached(flag, seq + 1, arena_point(0, 0)));
				if (plan > 0)
					assert_true(arena_reached(flag, seq, arena_point(plan - 1, phases[k])));
				assert_true(arena_reached(ARENA_FLAG(seq, ARENA_LAST_POINT), seq,
				                          arena_point(plan, phases[k])));
			}
		}
	}
}

static void opening_here_gives_the_same_mapping(void **state)
{
	struct arena *arena = create(), *other = NULL;
	struct arena_address address;

	(void)state;
	arena_address(arena, &address);
	assert_int_equal(arena_open(&address, &other), CHOIR_SUCCESS);
	assert_ptr_equal(arena_base(other), arena_base(arena));
	arena_release(arena); /* the creator may go first */
	fill(arena_slot(other, 2, 3), SLOT_BYTES, 1);
	arena_release(arena_retain(other));
	arena_release(other);
	arena_release(NULL);
	assert_int_equal(arena_open(&address, &other), CHOIR_TRANSPORT);
}

/* What a process that never shared memory with us by fork does: this program again, with the address as arguments. */
static int reopened(char **argv)
{
	struct arena_address address = { 0 };
	struct arena *arena = NULL;

	address.process = strtoll(argv[2], NULL, 10);
	address.fd = atoi(argv[3]);
	address.ranks = RANKS;
	address.lanes = LANES;
	address.slot_bytes = SLOT_BYTES;
	address.nonce = strtoull(argv[4], NULL, 10);
	REQUIRE(arena_open(&address, &arena) == CHOIR_SUCCESS);
	REQUIRE(is_filled(arena_slot(arena, 1, 2), SLOT_BYTES, 42));
	fill(arena_slot(arena, 2, 2), SLOT_BYTES, 43);
	arena_publish(arena_lane(arena, 2, 2), ARENA_FLAG(9, 1));
	arena_poison(arena, CHOIR_MISMATCH, "from the other program");
	arena_release(arena);
	return 0;
}

static void execute_again(void *ctx)
{
	const struct arena_address *address = ctx;
	char pid[32], fd[32], nonce[32];

	snprintf(pid, sizeof pid, "%lld", (long long)address->process);
	snprintf(fd, sizeof fd, "%d", address->fd);
	snprintf(nonce, sizeof nonce, "%llu", (unsigned long long)address->nonce);
	execl("/proc/self/exe", "test_arena", "reopen", pid, fd, nonce, (char *)NULL);
	_exit(1);
}

static void another_program_opens_it(void **state)
{
	struct arena *arena = create();
	struct arena_address address;
	char text[64];

	(void)state;
	arena_address(arena, &address);
	fill(arena_slot(arena, 1, 2), SLOT_BYTES, 42);
	end_child(start_child(execute_again, &address));
	assert_int_equal(atomic_load(&arena_lane(arena, 2, 2)->flag), ARENA_FLAG(9, 1));
	assert_true(is_filled(arena_slot(arena, 2, 2), SLOT_BYTES, 43));
	assert_int_equal(arena_poisoned(arena, text, sizeof text), CHOIR_MISMATCH);
	assert_string_equal(text, "from the other program");
	arena_release(arena);
}

static void with_pages_of_any_size(void **state)
{
	setenv(PAGE, "16384", 1);
	another_program_opens_it(state);
	setenv(PAGE, "65536", 1);
	another_program_opens_it(state);
	unsetenv(PAGE);
}

static void open_in_child(void *ctx)
{
	struct arena *arena = NULL;

	REQUIRE(arena_open(ctx, &arena) == CHOIR_SUCCESS);
	fill(arena_slot(arena, 0, 0), SLOT_BYTES, 5);
	arena_publish(arena_lane(arena, 0, 0), 1);
	arena_release(arena);
}

static void a_child_opens_it(void **state)
{
	struct arena *arena = create();
	struct arena_address address;

	(void)state;
	arena_address(arena, &address);
	end_child(start_child(open_in_child, &address));
	assert_int_equal(atomic_load(&arena_lane(arena, 0, 0)->flag), 1);
	assert_true(is_filled(arena_slot(arena, 0, 0), SLOT_BYTES, 5));
	arena_release(arena);
}

static void try_wrong_addresses(void *ctx)
{
	struct arena_address right = *(struct arena_address *)ctx, wrong;
	struct arena *arena = NULL;

	wrong = right;
	wrong.nonce ^= 1;
	REQUIRE(arena_open(&wrong, &arena) == CHOIR_TRANSPORT);
	wrong = right;
	wrong.process = 0x7ffffff0;
	REQUIRE(arena_open(&wrong, &arena) == CHOIR_TRANSPORT);
	wrong = right;
	wrong.process = process_id(); /* the child has the descriptor too: that is the same memory */
	REQUIRE(arena_open(&wrong, &arena) == CHOIR_SUCCESS);
	arena_release(arena);
	wrong.lanes = LANES + 1;
	REQUIRE(arena_open(&wrong, &arena) == CHOIR_TRANSPORT);
	wrong.lanes = LANES - 1;
	REQUIRE(arena_open(&wrong, &arena) == CHOIR_TRANSPORT);
	wrong.lanes = 0;
	REQUIRE(arena_open(&wrong, &arena) == CHOIR_ARGUMENT);
}

static void addresses_are_checked(void **state)
{
	struct arena *arena = create();
	struct arena_address address;

	(void)state;
	arena_address(arena, &address);
	end_child(start_child(try_wrong_addresses, &address));
	arena_release(arena);
}

static void set_limit(int resource, rlim_t value)
{
	struct rlimit limit;

	REQUIRE(getrlimit(resource, &limit) == 0);
	limit.rlim_cur = value;
	REQUIRE(setrlimit(resource, &limit) == 0);
}

static void run_out(void *ctx)
{
	struct arena *arena = NULL;

	(void)ctx;
	signal(SIGXFSZ, SIG_DFL); /* must not be raised */
	set_limit(RLIMIT_FSIZE, 1 << 16);
	REQUIRE(arena_create(RANKS, LANES, SLOT_BYTES, &arena) == CHOIR_NO_MEMORY);
	REQUIRE(strstr(choir_last_error(), "file size limit") != NULL);
	set_limit(RLIMIT_FSIZE, 1 << 24);
	REQUIRE(arena_create(RANKS, LANES, SLOT_BYTES, &arena) == CHOIR_SUCCESS);
	arena_release(arena);
	set_limit(RLIMIT_NOFILE, 3);
	REQUIRE(arena_create(RANKS, LANES, SLOT_BYTES, &arena) == CHOIR_NO_MEMORY);
}

static void what_cannot_be_had_is_no_memory(void **state)
{
	struct arena *arena = NULL;

	(void)state;
	assert_int_equal(arena_create(2, 8, (uint64_t)1 << 50, &arena), CHOIR_NO_MEMORY);
	assert_int_equal(arena_create(INT32_MAX, 8, UINT64_MAX / 4096 * 4096, &arena), CHOIR_NO_MEMORY);
	assert_int_equal(arena_create(0, 8, 4096, &arena), CHOIR_ARGUMENT);
	assert_int_equal(arena_create(2, 9, 4096, &arena), CHOIR_ARGUMENT);
	assert_int_equal(arena_create(2, 8, 4095, &arena), CHOIR_ARGUMENT);
	assert_null(arena);
	end_child(start_child(run_out, NULL));
}

static uint64_t allocated(const struct arena_address *address)
{
	struct stat stat;

	assert_int_equal(fstat(address->fd, &stat), 0);
	return (uint64_t)stat.st_blocks * 512;
}

static void take_and_write(void *ctx)
{
	struct arena *arena = NULL;

	REQUIRE(arena_open(ctx, &arena) == CHOIR_SUCCESS);
	REQUIRE(arena_ring(arena, 1, 0) == NULL);
	REQUIRE(arena_take_slots(arena, 1, SLOT_BYTES, SLOT_BYTES) == CHOIR_SUCCESS);
	fill(arena_slot(arena, 1, 1), SLOT_BYTES, 7);
	REQUIRE(arena_take_ring(arena, 1, 0) == CHOIR_SUCCESS);
	fill((unsigned char *)arena_ring(arena, 1, 0), arena_ring_bytes(arena), 8);
	REQUIRE(arena_take_slots(arena, 0, 0, SLOT_BYTES) == CHOIR_SUCCESS);
	arena_release(arena);
}

/* What the other process wrote, read here for the first time. */
static void read_ring(struct arena *arena)
{
	unsigned char *bytes = (unsigned char *)arena_ring(arena, 1, 0);
	const char *why_not = page_faults_hidden(arena_base(arena));
	long before;

	arena_map_ring(arena, 1, 0);
	before = page_faults();
	assert_true(is_filled(bytes, arena_ring_bytes(arena), 8));
	if (why_not == NULL)
		assert_int_equal(page_faults(), before);
	else
		print_message("page faults are not counted: %s\n", why_not);
}

/* Another process takes what it writes to, and nothing else is allocated. */
static void a_growing_arena_grows(void **state)
{
	struct arena *arena = NULL;
	struct arena_address address;
	uint64_t ring;

	(void)state;
	assert_int_equal(arena_create_growing(RANKS, ARENA_MOST_LANES, SLOT_BYTES, &arena), CHOIR_SUCCESS);
	arena_address(arena, &address);
	assert_int_equal(allocated(&address), 3 * 4096); /* head, controls, lanes */
	assert_true(arena_bytes(arena) > 16 * SLOT_BYTES);
	end_child(start_child(take_and_write, &address));
	ring = arena_ring_bytes(arena);
	read_ring(arena);
	assert_true(is_filled(arena_slot(arena, 1, 1), SLOT_BYTES, 7));
	assert_true(arena_map_slots(arena, 0, 8 * SLOT_BYTES));
	assert_false(arena_map_slots(arena, 1, SLOT_BYTES)); /* not the first of them */
	assert_in_range(allocated(&address), 3 * 4096 + 2 * SLOT_BYTES + ring,
	                3 * 4096 + 2 * SLOT_BYTES + ring + 8 * 4096);
	assert_null(arena_ring(arena, 0, 1));
	assert_int_equal(arena_take_all(arena), CHOIR_SUCCESS);
	assert_int_equal(allocated(&address), arena_bytes(arena));
	arena_release(arena);
}

static void the_first_poison_stays(void **state)
{
	struct arena *arena = create();
	char text[16];

	(void)state;
	arena_poison(arena, CHOIR_PEER_DEAD, "first");
	arena_poison(arena, CHOIR_TIMEOUT, "second");
	assert_int_equal(arena_poisoned(arena, text, sizeof text), CHOIR_PEER_DEAD);
	assert_string_equal(text, "first");
	assert_int_equal(arena_poisoned(arena, text, 3), CHOIR_PEER_DEAD);
	assert_string_equal(text, "fi");
	arena_release(arena);
	arena = create();
	arena_poison(arena, CHOIR_SUCCESS, NULL);
	assert_int_equal(arena_poisoned(arena, text, sizeof text), CHOIR_ABORTED);
	arena_release(arena);
}

static void wait_for_byte(void *ctx)
{
	char byte;

	(void)!read(*(int *)ctx, &byte, 1);
}

static void a_dead_peer_is_seen(void **state)
{
	int pipe_fds[2], watch;
	siginfo_t info;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	pid = start_child(wait_for_byte, &pipe_fds[0]);
	watch = peer_watch_open(process_id_of(pid));
	assert_true(watch >= 0);
	assert_false(peer_watch_dead(watch));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(peer_watch_dead(watch)); /* before it is reaped */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_true(peer_watch_dead(watch)); /* and after */
	peer_watch_close(watch);
	assert_int_equal(peer_watch_open(process_id_of(pid)), PEER_WATCH_GONE);
	assert_true(peer_watch_dead(PEER_WATCH_GONE));
	assert_false(peer_watch_dead(-1));
	peer_watch_close(-1);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_do_not_overlap),
		cmocka_unit_test(steps_come_in_order),
		cmocka_unit_test(opening_here_gives_the_same_mapping),
		cmocka_unit_test(another_program_opens_it),
		cmocka_unit_test(with_pages_of_any_size),
		cmocka_unit_test(a_child_opens_it),
		cmocka_unit_test(addresses_are_checked),
		cmocka_unit_test(what_cannot_be_had_is_no_memory),
		cmocka_unit_test(a_growing_arena_grows),
		cmocka_unit_test(the_first_poison_stays),
		cmocka_unit_test(a_dead_peer_is_seen),
	};

	if (argc == 5 && strcmp(argv[1], "reopen") == 0)
		return reopened(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
