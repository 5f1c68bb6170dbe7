/* SPDX-License-Identifier: MIT */
/* The shared-memory transport takes the memory of a ring with its first message: what is not taken cannot be accessed
 * here. */
#include "base/ring.h"
#include "net/shm.h"
#include "support.h"

enum { PAGE = 4096, PAGE_RING = 16384 };

struct taking {
	unsigned char *memory;
	int taken, left, released;
};

static void no_bell(void *ctx, int peer)
{
	(void)ctx, (void)peer;
}

static void count_end(void *ctx)
{
	((struct taking *)ctx)->released++;
}

static choir_status take_pages(void *ctx, uint64_t off, uint64_t bytes)
{
	struct taking *taking = ctx;
	uint64_t first = off / PAGE * PAGE, end = (off + bytes + PAGE - 1) / PAGE * PAGE;

	if (taking->left-- == 0)
		return CHOIR_NO_MEMORY;
	taking->taken++;
	assert_int_equal(bytes, ring_span(PAGE_RING));
	assert_int_equal(mprotect(taking->memory + first, end - first, PROT_READ | PROT_WRITE), 0);
	return CHOIR_SUCCESS;
}

static void nothing_arrives(choir_transport *t)
{
	choir_message message;
	int arrived = 1;

	assert_int_equal(t->ops->poll(t, &message, &arrived), CHOIR_SUCCESS);
	assert_false(arrived);
}

static void rings_are_taken_by_their_first_message(void **state)
{
	struct taking taking = { .left = 2 };
	uint64_t bytes = (shm_bytes(70, PAGE_RING) + PAGE - 1) / PAGE * PAGE, first;
	choir_transport *t[2];
	choir_message message;
	void *request = NULL;
	int arrived = 0, done = 0;

	(void)state;
	taking.memory = shared_zeroes(bytes);
	assert_int_equal(mprotect(taking.memory, bytes, PROT_NONE), 0);
	first = (shm_first_bytes(70) + PAGE - 1) / PAGE * PAGE;
	assert_int_equal(mprotect(taking.memory, first, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    shm_create(taking.memory, i * 69, 70, PAGE_RING, take_pages, no_bell, count_end, &taking, &t[i]),
		    CHOIR_SUCCESS);
	nothing_arrives(t[0]);
	nothing_arrives(t[1]);
	assert_int_equal(taking.taken, 0);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(t[1]->ops->send_now(t[1], 0, "69 to 0", 8, NULL, 0, &done), CHOIR_SUCCESS);
		assert_true(done);
		assert_int_equal(t[0]->ops->poll(t[0], &message, &arrived), CHOIR_SUCCESS);
		assert_true(arrived && message.peer == 69);
		assert_string_equal(message.data, "69 to 0");
		t[0]->ops->give(t[0], &message);
		nothing_arrives(t[1]);
		assert_int_equal(taking.taken, 1);
	}
	assert_int_equal(t[0]->ops->send(t[0], 0, "mine", 5, &request), CHOIR_SUCCESS);
	assert_int_equal(t[0]->ops->poll(t[0], &message, &arrived), CHOIR_SUCCESS);
	assert_string_equal(message.data, "mine");
	t[0]->ops->give(t[0], &message);
	assert_int_equal(t[0]->ops->send(t[0], 69, "too many", 9, &request), CHOIR_NO_MEMORY);
	nothing_arrives(t[1]);
	for (int i = 0; i < 2; i++)
		t[i]->ops->destroy(t[i]);
	assert_int_equal(taking.released, 2);
	munmap(taking.memory, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rings_are_taken_by_their_first_message) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
