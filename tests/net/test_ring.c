/* SPDX-License-Identifier: MIT */
/* The ring of items in shared memory, both sides driven by hand: what fits, in which order room comes back; then two
 * processes. */
#include "base/ring.h"
#include "support.h"

#include <sched.h>

enum { BYTES = 1024 };

static struct ring *new_ring(void)
{
	return shared_zeroes(ring_span(BYTES));
}

static void end_ring(struct ring *ring)
{
	munmap(ring, ring_span(BYTES));
}

/* Item `number`, all its bytes made from that. */
static bool put(struct ring *ring, uint64_t number, uint64_t len)
{
	struct ring_item *item = ring_reserve(ring, BYTES, len);

	if (item == NULL)
		return false;
	if (len > 0) {
		assert_int_equal((uintptr_t)ring_at(ring, item) % RING_LINE_BYTES, 0);
		assert_true(item->at + len <= BYTES);
		fill(ring_at(ring, item), len, number);
	}
	item->key[0] = number;
	item->key[1] = len;
	ring_publish(ring, (uint32_t)number & 0xFFFFFF);
	return true;
}

static void check_item(struct ring *ring, uint64_t number)
{
	uint32_t tag = 0;
	const struct ring_item *item = ring_peek(ring, number, &tag);

	assert_non_null(item);
	assert_int_equal(item->key[0], number);
	assert_int_equal(tag, number & 0xFFFFFF);
	if (item->key[1] > 0)
		assert_true(is_filled(ring_at(ring, item), item->key[1], number));
}

static void items_run_out(void **state)
{
	struct ring *ring = new_ring();
	uint32_t tag;

	(void)state;
	assert_null(ring_peek(ring, 0, &tag));
	for (uint64_t i = 0; i < RING_ITEMS; i++)
		assert_true(put(ring, i, 0));
	assert_false(put(ring, RING_ITEMS, 0));
	assert_null(ring_peek(ring, RING_ITEMS, &tag));
	check_item(ring, 0);
	assert_true(ring_free(ring, 0));
	assert_true(put(ring, RING_ITEMS, 0));
	assert_false(put(ring, RING_ITEMS + 1, 0));
	end_ring(ring);
}

static void room_comes_back_in_order(void **state)
{
	static const uint64_t order[] = { 2, 1, 3 };
	struct ring *ring = new_ring();

	(void)state;
	assert_null(ring_reserve(ring, BYTES, BYTES + 1));
	for (uint64_t i = 0; i < 4; i++)
		assert_true(put(ring, i, BYTES / 4 - 5));
	for (int i = 0; i < 3; i++) {
		check_item(ring, order[i]);
		assert_false(ring_free(ring, order[i]));
		assert_true(ring_freed_early(ring, order[i]));
		assert_false(put(ring, 4, 1));
	}
	assert_int_equal(ring_first(ring), 0);
	assert_true(ring_free(ring, 0));
	assert_int_equal(ring_first(ring), 4);
	assert_int_equal(ring->early, 0);
	assert_true(put(ring, 4, BYTES)); /* all of it, from the front */
	check_item(ring, 4);
	end_ring(ring);
}

/* Room is in one piece: what is left before the end is passed over, and comes back with the item behind it. */
static void an_item_never_wraps(void **state)
{
	struct ring *ring = new_ring();

	(void)state;
	assert_true(put(ring, 0, BYTES / 2));
	assert_true(put(ring, 1, BYTES / 4));
	assert_false(put(ring, 2, BYTES / 2));
	assert_true(ring_free(ring, 0));
	assert_true(put(ring, 2, BYTES / 2));
	check_item(ring, 1);
	check_item(ring, 2);
	assert_false(put(ring, 3, 64));
	assert_true(ring_free(ring, 1));
	assert_false(put(ring, 3, BYTES / 2));
	assert_true(put(ring, 3, BYTES / 4));
	check_item(ring, 2);
	check_item(ring, 3);
	end_ring(ring);
}

enum { MANY = 20000 };

static uint64_t len_of(uint64_t number)
{
	return random_mix(number) % 5 == 0 ? 0 : random_mix(number) % (BYTES / 2);
}

static void send_many(void *ctx)
{
	for (uint64_t i = 0; i < MANY; i++)
		while (!put(ctx, i, len_of(i)))
			sched_yield();
}

/* Frees what it holds of the items since the oldest, the last first. */
static void free_down_to(struct ring *ring, uint64_t first, uint64_t end)
{
	for (uint64_t i = end; i > first; i--) {
		check_item(ring, i - 1);
		ring_free(ring, i - 1);
	}
}

static void processes_pass_every_item_once(void **state)
{
	struct ring *ring = new_ring();
	pid_t pid = start_child(send_many, ring);
	uint64_t held = 0;
	uint32_t tag;

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		while (ring_peek(ring, i, &tag) == NULL) {
			free_down_to(ring, held, i); /* the sender may wait for room */
			held = i;
			sched_yield();
		}
		check_item(ring, i);
		if (random_mix(i) % 3 == 0) {
			free_down_to(ring, held, i + 1);
			held = i + 1;
		}
	}
	end_child(pid);
	end_ring(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_run_out),
		cmocka_unit_test(room_comes_back_in_order),
		cmocka_unit_test(an_item_never_wraps),
		cmocka_unit_test(processes_pass_every_item_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
