/* SPDX-License-Identifier: MIT */
/* Shared blocks: read by others, not used again while somebody reads, and known to a forked process. */
#include "base/error.h"
#include "base/wait.h"
#include "node/process_id.h"
#include "sparse/share.h"
#include "sparse/state.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool calloc_fails;

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

void *__wrap_calloc(size_t n, size_t bytes)
{
	return calloc_fails ? NULL : __real_calloc(n, bytes);
}

/* On a machine with more work than cores a sleep of 1 ms may take this long. */
enum { LONG_SLEEP_US = 20000, SETTLE_MS = 50 };
static int sleeps;

void __real_wait_sleep_us(int64_t us);
void __wrap_wait_sleep_us(int64_t us);

void __wrap_wait_sleep_us(int64_t us)
{
	sleeps++;
	__real_wait_sleep_us(us > LONG_SLEEP_US ? us : LONG_SLEEP_US);
}

static void read_where_it_lies(void **state)
{
	struct share_block *block;
	struct share_view *view, *again;
	struct share_address address;

	(void)state;
	assert_int_equal(share_take(1000, true, &block), CHOIR_SUCCESS);
	memcpy(share_ptr(block), "pairs", 6);
	share_offer(block, 2, &address);
	assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
	assert_int_equal(share_open(&address, &again), CHOIR_SUCCESS);
	assert_string_equal(share_view_ptr(view), "pairs");
	assert_ptr_equal(view, again); /* one mapping */
	share_close(view);
	share_close(again);
	share_give(block, true);
}

static void not_used_again_while_read(void **state)
{
	struct share_block *first, *second, *third;
	struct share_view *view;
	struct share_address address;

	(void)state;
	assert_int_equal(share_take(300000, true, &first), CHOIR_SUCCESS);
	share_offer(first, 1, &address);
	share_give(first, true);
	assert_int_equal(share_take(300000, true, &second), CHOIR_SUCCESS);
	assert_ptr_not_equal(first, second);
	assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
	share_close(view);
	assert_int_equal(share_take(300000, true, &third), CHOIR_SUCCESS);
	assert_ptr_equal(first, third);
	share_give(second, true);
	share_give(third, true);
}

/* A reader without memory for its view reads nothing, and the block serves another call. */
static void used_again_after_a_reader_without_memory(void **state)
{
	struct share_block *first, *second;
	struct share_view *view = NULL;
	struct share_address address;

	(void)state;
	assert_int_equal(share_take(2000000, true, &first), CHOIR_SUCCESS);
	share_offer(first, 1, &address);
	calloc_fails = true;
	assert_int_equal(share_open(&address, &view), CHOIR_NO_MEMORY);
	calloc_fails = false;
	assert_null(view);
	assert_non_null(strstr(error_text(), "a view of a shared block"));
	share_give(first, true);
	assert_int_equal(share_take(2000000, true, &second), CHOIR_SUCCESS);
	assert_ptr_equal(first, second);
	share_give(second, true);
}

/* One block cannot be opened: the blocks of the ranks behind it still lose their reader, and serve another call. */
static void used_again_behind_one_that_cannot_be_opened(void **state)
{
	struct layout layout = { .n = 3 };
	struct sparse_header headers[3] = { { .pairs = 0 } };
	struct sparse sparse = { .env = { .layout = &layout }, .headers = headers, .failure_is_local = true };
	struct share_view *views[3] = { NULL };
	struct share_block *first, *second;

	(void)state;
	assert_int_equal(share_take(3000000, true, &first), CHOIR_SUCCESS);
	headers[1].pairs_at = (struct share_address){ .process = process_id(), .fd = -1, .nonce = 1 };
	share_offer(first, 1, &headers[2].pairs_at);
	assert_int_equal(sparse_open(&sparse, views, sparse_pairs_at), CHOIR_TRANSPORT);
	assert_non_null(strstr(error_text(), "rank 1"));
	assert_null(views[1]);
	sparse_close(&sparse, views);
	share_give(first, true);
	assert_int_equal(share_take(3000000, true, &second), CHOIR_SUCCESS);
	assert_ptr_equal(first, second);
	share_give(second, true);
}

/* Short ones stand one behind the other, and begin anew at the end of the block; readers find each where it is. */
static void short_ones_in_turn(void **state)
{
	enum { ROUNDS = 400 };
	struct share_block *block;
	struct share_view *view;
	struct share_address address;
	const char *before = NULL;
	int anew = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		const char *seen;

		assert_int_equal(share_take(1000, true, &block), CHOIR_SUCCESS);
		assert_int_equal((uintptr_t)share_ptr(block) % 64, 0);
		memset(share_ptr(block), i % 100, 1000);
		share_offer(block, 1, &address);
		assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
		seen = share_view_ptr(view);
		assert_memory_equal(seen, share_ptr(block), 1000);
		if (i > 0 && seen != before + 1024)
			anew++;
		before = seen;
		share_close(view);
		share_give(block, true);
	}
	assert_in_range(anew, 1, 2);
}

/* Aside or in place, long enough for either: readers find the same, one behind the other. */
static void made_either_way(void **state)
{
	enum { BYTES = 50001, ROUNDS = 60 };
	struct share_block *block;
	struct share_view *view;
	struct share_address address;

	(void)state;
	assert_true(share_has_ways(BYTES, false) && !share_has_ways(1000, false) && !share_has_ways(5000000, false));
	assert_true(share_has_ways(BYTES, true) && !share_has_ways(1000, true) && share_has_ways(5000000, true) &&
	            !share_has_ways(50000000, true));
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(share_take(BYTES, i % 3 == 0, &block), CHOIR_SUCCESS);
		assert_int_equal((uintptr_t)share_ptr(block) % 64, 0);
		memset(share_ptr(block), i, BYTES);
		share_offer(block, 1, &address);
		assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
		assert_ptr_not_equal(share_view_ptr(view), share_ptr(block)); /* a mapping of its own */
		assert_memory_equal(share_view_ptr(view), share_ptr(block), BYTES);
		share_close(view);
		share_give(block, true);
	}
}

/* What an unfinished call has lent is gone for those who come later, and stays for those who have it. */
static void dropped_by_its_owner(void **state)
{
	static unsigned char sevens[999999];
	struct share_block *block;
	struct share_view *view, *late;
	struct share_address address;

	(void)state;
	memset(sevens, 7, sizeof sevens);
	assert_int_equal(share_take(5000000, true, &block), CHOIR_SUCCESS);
	memcpy((unsigned char *)share_ptr(block) + 4000001, sevens, sizeof sevens);
	share_offer(block, 2, &address);
	assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
	share_give(block, false);
	assert_memory_equal((const unsigned char *)share_view_ptr(view) + 4000001, sevens, sizeof sevens);
	share_close(view);
	assert_int_equal(share_take(10000000, true, &block), CHOIR_SUCCESS);
	address.nonce ^= 1; /* not what is mapped already */
	assert_int_equal(share_open(&address, &late), CHOIR_TRANSPORT);
	share_give(block, true);
}

enum { WHOLE = (1 << 18) - 4096 }; /* fills a short block, so it lies where the one before lay */

/* A child opens the parent's block, and takes none of the parent's for its own. */
static int child(const struct share_address *address)
{
	struct share_block *mine;
	struct share_address of_mine;
	struct share_view *view;

	if (share_take(WHOLE, false, &mine) != CHOIR_SUCCESS)
		return 1;
	share_offer(mine, 0, &of_mine);
	if (of_mine.nonce == address->nonce)
		return 2;
	memcpy(share_ptr(mine), "mine", 5);
	if (share_open(address, &view) != CHOIR_SUCCESS || strcmp(share_view_ptr(view), "parent") != 0)
		return 3;
	share_close(view);
	share_give(mine, true);
	return 0;
}

static void other_process(void **state)
{
	struct share_block *block;
	struct share_address address;
	struct share_view *view;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(share_take(WHOLE, false, &block), CHOIR_SUCCESS);
	memcpy(share_ptr(block), "parent", 7);
	share_offer(block, 1, &address);
	share_give(block, true);
	pid = fork();
	if (pid == 0)
		_exit(child(&address));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(share_take(WHOLE, false, &block), CHOIR_SUCCESS);
	share_offer(block, 1, &address);
	assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
	assert_string_equal(share_view_ptr(view), "parent");
	share_close(view);
	share_give(block, true);
}

/* A child that lends a block until the parent closes its end. */
static pid_t lend(int *answer, struct share_address *address)
{
	int out[2], in[2];
	pid_t pid;

	assert_true(pipe(out) == 0 && pipe(in) == 0);
	pid = fork();
	if (pid == 0) {
		struct share_block *block;

		close(in[1]);
		if (share_take(1000, true, &block) != CHOIR_SUCCESS)
			_exit(1);
		share_offer(block, 1, address);
		_exit(write(out[1], address, sizeof *address) != sizeof *address || read(in[0], address, 1) != 0);
	}
	close(out[1]);
	close(in[0]);
	assert_int_equal(read(out[0], address, sizeof *address), sizeof *address);
	close(out[0]);
	*answer = in[1];
	return pid;
}

/* A lender is killed before the parent has opened its block; one that has ended without any trouble is as dead. */
static void owner_is_dead(void **state)
{
	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		struct share_address address;
		struct share_view *view;
		int answer;
		pid_t pid = lend(&answer, &address);

		assert_int_equal(killed ? kill(pid, SIGKILL) : 0, 0);
		close(answer);
		assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0); /* not reaped */
		assert_int_equal(share_open(&address, &view), CHOIR_PEER_DEAD);
		assert_non_null(strstr(choir_last_error(), "is dead"));
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

enum { ENDED = 128 }; /* whose files are kept: share.c */

static int mapped_files(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof line, maps) != NULL)
		n += strstr(line, "choir-sparse") != NULL;
	fclose(maps);
	return n;
}

/* A process that lives on keeps the files of some that have ended, not of all. */
static void forgets_the_ended(void **state)
{
	int before = mapped_files();

	(void)state;
	for (int i = 0; i < ENDED + 30; i++) {
		struct share_address address;
		struct share_view *view;
		int answer, status;
		pid_t pid = lend(&answer, &address);

		assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
		share_close(view);
		close(answer);
		assert_true(waitpid(pid, &status, 0) == pid && status == 0);
	}
	assert_in_range(mapped_files() - before, ENDED / 2, ENDED + 1);
}

/* What somebody still has to read is waited for, as long as said. */
static void settles_when_read(void **state)
{
	struct share_block *block;
	struct share_view *view;
	struct share_address address;

	(void)state;
	share_settle(INT64_MAX); /* nothing is lent */
	assert_int_equal(share_take(1000, true, &block), CHOIR_SUCCESS);
	share_offer(block, 1, &address);
	share_settle(INT64_MAX); /* the call is not over */
	share_give(block, true);
	share_settle(1);
	assert_int_equal(share_open(&address, &view), CHOIR_SUCCESS);
	share_close(view);
	share_settle(INT64_MAX);
}

/* A reader that never comes is waited for once, not at the end of each comm. */
static void gives_up_once(void **state)
{
	struct share_block *block;
	struct share_address address;
	int64_t since;

	(void)state;
	assert_int_equal(share_take(1000, true, &block), CHOIR_SUCCESS);
	share_offer(block, 1, &address);
	share_give(block, true);
	share_settle(1);
	since = wait_now_ns();
	share_settle(20000);
	assert_true(wait_now_ns() - since < INT64_C(10000000000));
}

/* The wait is limited in time, not in sleeps. */
static void settles_in_time(void **state)
{
	struct share_block *block;
	struct share_address address;

	(void)state;
	assert_int_equal(share_take(1000, true, &block), CHOIR_SUCCESS);
	share_offer(block, 1, &address);
	share_give(block, true);
	sleeps = 0;
	share_settle(SETTLE_MS);
	assert_true(sleeps <= SETTLE_MS * 1000 / LONG_SLEEP_US + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(read_where_it_lies),
		                            cmocka_unit_test(not_used_again_while_read),
		                            cmocka_unit_test(used_again_after_a_reader_without_memory),
		                            cmocka_unit_test(used_again_behind_one_that_cannot_be_opened),
		                            cmocka_unit_test(short_ones_in_turn),
		                            cmocka_unit_test(made_either_way),
		                            cmocka_unit_test(dropped_by_its_owner),
		                            cmocka_unit_test(other_process),
		                            cmocka_unit_test(owner_is_dead),
		                            cmocka_unit_test(forgets_the_ended),
		                            cmocka_unit_test(settles_when_read),
		                            cmocka_unit_test(gives_up_once),
		                            cmocka_unit_test(settles_in_time) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
