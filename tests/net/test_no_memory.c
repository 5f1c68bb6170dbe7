/* SPDX-License-Identifier: MIT */
/* Each allocation of the shared-memory transport and of the porter fails once: its call says so and has changed
 * nothing, so the same call again does all; and nothing is left behind. */
#include "base/error.h"
#include "net/shm.h"
#include "node/porter.h"
#include "node/process_id.h"
#include "support.h"
#include "world/allocations.h"

enum { ENDPOINTS = 2, LONGEST = 5000, MESSAGES = 6 };

static const size_t lengths[MESSAGES] = { 0, 1, 100, 300, LONGEST, 65 }; /* rings of 1024: one piece or several */

struct pass {
	void *memory;
	choir_transport *t[ENDPOINTS];
	int refused, released;
};

static void no_bell(void *ctx, int peer)
{
	(void)ctx, (void)peer;
}

static void count_end(void *ctx)
{
	((struct pass *)ctx)->released++;
}

/* True if the call has to be made again. */
static bool is_refused(struct pass *pass, choir_status st)
{
	const void *site;

	if (st == CHOIR_SUCCESS)
		return false;
	assert_int_equal(st, CHOIR_NO_MEMORY);
	assert_true(allocations_failed(&site));
	assert_non_null(strstr(choir_last_error(), "memory"));
	error_set(CHOIR_ARGUMENT, "another sentence");
	pass->refused++;
	return true;
}

static void create(struct pass *pass, int rank)
{
	while (is_refused(
	    pass, shm_create(pass->memory, rank, ENDPOINTS, 1024, NULL, no_bell, count_end, pass, &pass->t[rank])))
		assert_int_equal(pass->released, 0);
}

static bool receives(struct pass *pass, int rank, int number)
{
	choir_message message;
	int arrived = 0;

	while (is_refused(pass, pass->t[rank]->ops->poll(pass->t[rank], &message, &arrived)))
		assert_false(arrived);
	if (!arrived)
		return false;
	assert_int_equal(message.peer, 1 - rank);
	assert_int_equal(message.bytes, lengths[number]);
	assert_true(is_filled(message.data, message.bytes, (uint64_t)number));
	pass->t[rank]->ops->give(pass->t[rank], &message);
	return true;
}

static void pass_message(struct pass *pass, int from, int number)
{
	static unsigned char data[LONGEST];
	choir_transport *t = pass->t[from];
	void *request = NULL;
	bool received = false;
	int done;

	fill(data, lengths[number], (uint64_t)number);
	while (is_refused(pass, t->ops->send(t, 1 - from, data, lengths[number], &request)))
		assert_null(request);
	for (done = request == NULL; !done || !received;) {
		received |= !received && receives(pass, 1 - from, number);
		if (!done)
			assert_int_equal(t->ops->test(t, request, &done), CHOIR_SUCCESS);
	}
	assert_false(receives(pass, 1 - from, number));
}

/* True: the k-th allocation was reached, and failed. */
static bool transport_lacks(unsigned k)
{
	size_t before = allocations_live();
	uint64_t bytes = shm_bytes(ENDPOINTS, 1024);
	struct pass pass = { .memory = shared_zeroes(bytes) };
	const void *site;
	bool failed;

	allocations_fail(k);
	for (int rank = 0; rank < ENDPOINTS; rank++)
		create(&pass, rank);
	for (int number = 0; number < MESSAGES; number++)
		pass_message(&pass, number % ENDPOINTS, number);
	failed = allocations_failed(&site);
	allocations_stop();
	assert_int_equal(pass.refused, failed);
	for (int rank = 0; rank < ENDPOINTS; rank++)
		pass.t[rank]->ops->destroy(pass.t[rank]);
	assert_int_equal(pass.released, ENDPOINTS);
	assert_int_equal(allocations_live(), before);
	munmap(pass.memory, bytes);
	return failed;
}

static void a_transport_goes_on(void **state)
{
	unsigned k = 1;

	(void)state;
	while (transport_lacks(k))
		k++;
	assert_true(k > 8); /* two endpoints with their tables, a send and a block for each */
}

struct porting {
	unsigned k;
	_Atomic bool failed;
};

/* A child: a process starts one porter. */
static void start_porter(void *ctx)
{
	struct porting *porting = ctx;
	struct porter_address address = { 0 };
	choir_status st;
	const void *site;
	int file;

	allocations_fail(porting->k);
	st = porter_start(&address);
	if (st == CHOIR_SUCCESS)
		st = porter_learn(process_id(), &address);
	porting->failed = allocations_failed(&site);
	REQUIRE(st == (porting->failed ? CHOIR_NO_MEMORY : CHOIR_SUCCESS));
	REQUIRE(porter_start(&address) == CHOIR_SUCCESS);
	REQUIRE(porter_learn(process_id(), &address) == CHOIR_SUCCESS);
	file = porter_fetch(process_id(), PORTER_SELF, -1, 0, 0);
	REQUIRE(file >= 0);
	close(file);
}

static void a_porter_starts_again(void **state)
{
	struct porting *porting = shared_zeroes(sizeof *porting);

	(void)state;
	do {
		porting->k++;
		end_child(start_child(start_porter, porting));
	} while (porting->failed);
	assert_true(porting->k > 2); /* the thread's facts, the peer */
	munmap(porting, sizeof *porting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transport_goes_on),
		cmocka_unit_test(a_porter_starts_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
