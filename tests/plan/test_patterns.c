/* SPDX-License-Identifier: MIT */
/* The arithmetic under the algorithms, as tables and as properties. */
#include "algo/pattern_block.h"
#include "algo/pattern_halving.h"
#include "algo/pattern_hypercube.h"
#include "algo/pattern_order.h"
#include "algo/pattern_pairs.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MAX_RANKS 40

static void block_table(void **state)
{
	static const struct {
		uint64_t bytes, unit;
		int n;
		uint64_t offs[5]; /* of blocks 0 .. 4, where there are so many */
	} table[] = {
		{ 0, 64, 3, { 0, 0, 0, 0 } },
		{ 4, 64, 3, { 0, 4, 4, 4 } },
		{ 256, 64, 4, { 0, 64, 128, 192, 256 } },
		{ 260, 64, 4, { 0, 128, 192, 256, 260 } },
		{ 100, 64, 4, { 0, 64, 100, 100, 100 } },
		{ 60, 12, 2, { 0, 36, 60 } },
		{ 7, 1, 3, { 0, 3, 5, 7 } },
	};

	(void)state;
	for (size_t t = 0; t < sizeof table / sizeof *table; t++)
		for (int i = 0; i <= table[t].n; i++)
			assert_int_equal(block_off(table[t].bytes, table[t].n, table[t].unit, i), table[t].offs[i]);
}

/* Blocks follow each other, cover everything, begin on units, differ by one unit at most, and none exceeds
 * block_max. */
static void blocks_cover(void **state)
{
	static const uint64_t elems[] = { 1, 2, 4, 8, 12, 16 };

	(void)state;
	for (size_t e = 0; e < sizeof elems / sizeof *elems; e++)
		for (uint64_t count = 0; count < 300; count += 1 + count / 17)
			for (int n = 1; n <= MAX_RANKS; n++) {
				uint64_t bytes = count * elems[e], unit = block_unit(elems[e]), sum = 0, longest = 0;

				for (int i = 0; i < n; i++) {
					uint64_t off = block_off(bytes, n, unit, i), len = block_len(bytes, n, unit, i);

					assert_int_equal(off, sum);
					assert_true(len == 0 || off % unit == 0);
					assert_int_equal(len % elems[e], 0);
					assert_true(len + unit >= longest || off + len == bytes);
					longest = len > longest ? len : longest;
					sum += len;
				}
				assert_int_equal(sum, bytes);
				assert_true(longest <= block_max(bytes, n, unit));
				assert_true(block_max(bytes, n, unit) < longest + unit || bytes == 0);
			}
	/* No overflow near the top. */
	assert_int_equal(block_off(UINT64_C(1) << 62, 3, 64, 3), UINT64_C(1) << 62);
}

static void chunks_cover(void **state)
{
	(void)state;
	for (uint64_t bytes = 0; bytes < 5000; bytes += 1 + bytes / 9)
		for (uint64_t limit = 64; limit < 2000; limit += 192) {
			struct chunks c = chunks_of(bytes, limit, 64);
			uint64_t sum = 0;

			for (uint64_t k = 0; k < c.n; k++) {
				assert_int_equal(chunk_off(c, k), sum);
				assert_true(chunk_len(c, k) > 0 && chunk_len(c, k) <= limit);
				sum += chunk_len(c, k);
			}
			assert_int_equal(sum, bytes);
			assert_true(c.n <= (bytes + limit - 1) / limit);
		}
}

/* Reduce-scatter: what I receive my neighbour sends in the same step; what I get I send next; every block passes all
 * members and ends at its owner.  Allgather: starts with the block owned, ends with all of them. */
static void ring_visits_all(void **state)
{
	(void)state;
	for (int n = 2; n <= MAX_RANKS; n++)
		for (int shift = 0; shift < 2; shift++)
			for (int me = 0; me < n; me++) {
				int held = ring_at(me + shift, n);
				unsigned char seen[MAX_RANKS] = { 0 };

				for (int s = 0; s < n - 1; s++) {
					int in = ring_reduce_recv_block(me, s, n, shift);

					assert_int_equal(in, ring_reduce_send_block(ring_before(me, n), s, n, shift));
					if (s + 1 < n - 1)
						assert_int_equal(in, ring_reduce_send_block(me, s + 1, n, shift));
				}
				assert_int_equal(ring_reduce_recv_block(me, n - 2, n, shift), held);
				assert_int_equal(ring_gather_send_block(me, 0, n, shift), held);
				seen[held] = 1;
				for (int s = 0; s < n - 1; s++) {
					int in = ring_gather_recv_block(me, s, n, shift);

					assert_int_equal(in, ring_gather_send_block(ring_before(me, n), s, n, shift));
					assert_false(seen[in]);
					seen[in] = 1;
					assert_true(seen[ring_gather_send_block(me, s, n, shift)]);
				}
				assert_int_equal(ring_before(ring_next(me, n), n), me);
			}
}

/* Everyone but the root is the child of its parent, once. */
static void tree_spans(void **state)
{
	static const struct {
		int v, radix, parent;
	} parents[] = { { 6, 2, 4 }, { 5, 2, 4 },  { 8, 2, 0 },   { 6, 1, 5 },
		        { 7, 4, 4 }, { 12, 4, 0 }, { 24, 4, 16 }, { 16, 4, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof parents / sizeof *parents; i++)
		assert_int_equal(tree_parent(parents[i].v, parents[i].radix), parents[i].parent);
	for (int radix = 1; radix <= 4; radix++)
		for (int n = 1; n <= MAX_RANKS; n++) {
			int children = 0;

			for (int v = 0; v < n; v++) {
				int mine = tree_children(v, radix, n), last = v;

				for (int i = 0; i < mine; i++) {
					int child = tree_child(v, i, radix, n);

					assert_in_range(child, last + 1, n - 1); /* nearest first */
					assert_int_equal(tree_parent(child, radix), v);
					last = child;
				}
				assert_true(mine <= TREE_MOST_CHILDREN);
				assert_int_equal(mine == 0, tree_is_leaf(v, radix, n));
				/* tree_reduce counts on it: but for chains, who has children has a nearest one, and
				 * that one is a leaf. */
				assert_true(mine == 0 || radix == 1 || tree_is_leaf(v + 1, radix, n));
				children += mine;
			}
			assert_int_equal(children, n - 1);
		}
	assert_int_equal(tree_children(0, 4, INT_MAX), 46);
	assert_int_equal(tree_children(0, 2, INT_MAX), 31);
}

/* Subtrees of the binomial tree: who is in v's is v or in that of the child towards it, and of no other child. */
static void tree_branches(void **state)
{
	(void)state;
	for (int n = 1; n <= MAX_RANKS; n++)
		for (int v = 0; v < n; v++)
			for (int w = 0; w < n; w++) {
				int holders = 0;

				for (int i = 0; i < tree_children(v, 2, n); i++)
					holders += tree_holds(tree_child(v, i, 2, n), w);
				assert_int_equal(holders, tree_holds(v, w) && w != v);
				if (holders == 0)
					continue;
				assert_int_equal(tree_parent(tree_branch(v, w), 2), v);
				assert_true(tree_holds(tree_branch(v, w), w));
			}
}

/* Halving: what I give my partner keeps, both together are what both held, and part id is left to id. */
static void halving_splits(void **state)
{
	(void)state;
	assert_int_equal(halving_first(5, 4), 4);
	assert_int_equal(halving_first(5, 2), 4);
	assert_int_equal(halving_first(6, 2), 6);
	assert_int_equal(halving_first(3, 4), 0);
	for (int core = 2; core <= 64; core *= 2)
		for (int id = 0; id < core; id++) {
			int held = 0;

			for (int bit = core / 2; bit > 0; bit /= 2) {
				int keep = halving_first(id, bit), give = halving_first(id ^ bit, bit);

				assert_int_equal(keep < give ? keep : give, held);
				assert_int_equal(keep < give ? give - keep : keep - give, bit);
				held = keep;
			}
			assert_int_equal(held, id);
		}
}

static void hypercube_folds(void **state)
{
	(void)state;
	for (int n = 1; n <= MAX_RANKS; n++) {
		int core = hypercube_core(n), extras = 0, folded = 0;

		assert_true(core <= n && 2 * core > n && (core & (core - 1)) == 0);
		for (int me = 0; me < n; me++) {
			if (hypercube_is_extra(me, n)) {
				assert_false(hypercube_is_extra(me - 1, n));
				assert_true(hypercube_has_folded(hypercube_id(me - 1, n), n));
				extras++;
				continue;
			}
			assert_in_range(hypercube_id(me, n), 0, core - 1);
			assert_int_equal(hypercube_member(hypercube_id(me, n), n), me);
			folded += hypercube_has_folded(hypercube_id(me, n), n);
		}
		assert_int_equal(extras, n - core);
		assert_int_equal(folded, extras);
	}
}

/* In n turns everybody meets everybody once, the two of a turn each other, and itself last where that can be. */
static void all_pairs_meet(void **state)
{
	(void)state;
	for (int n = 1; n <= MAX_RANKS; n++)
		for (int rank = 0; rank < n; rank++) {
			uint64_t met = 0;

			for (int turn = 0; turn < n; turn++) {
				int other = pairs_partner(rank, turn, n);

				assert_in_range(other, 0, n - 1);
				assert_int_equal(pairs_partner(other, turn, n), rank);
				assert_int_equal(pairs_turn(rank, other, n), turn);
				met |= UINT64_C(1) << other;
			}
			assert_true(met == (UINT64_C(1) << n) - 1);
			assert_true(n % 2 != 0 || pairs_turn(rank, rank, n) == n - 1);
		}
}

/* Every order has each member once, and knows where. */
static void orders_are_permutations(void **state)
{
	static const int line[] = { 0, 2, 4, 6, 7, 5, 3, 1 }, periphery[] = { 0, 1, 2, 3, 7, 6, 5, 4 },
			 rung_2[] = { 0, 2, 4, 6, 1, 3, 5, 7 };

	(void)state;
	for (int n = 1; n <= MAX_RANKS; n++)
		for (int order = ORDER_AUTO; order < N_RING_ORDERS; order++)
			for (int at = 0; at < n && order_fits((enum ring_order)order, n); at++) {
				int member = order_member((enum ring_order)order, at, n);

				assert_in_range(member, 0, n - 1);
				assert_int_equal(order_position((enum ring_order)order, member, n), at);
			}
	for (int at = 0; at < 8; at++) {
		assert_int_equal(order_member(ORDER_LINE, at, 8), line[at]);
		assert_int_equal(order_member(ORDER_PERIPHERY, at, 8), periphery[at]);
		assert_int_equal(order_member(ORDER_RUNG_2, at, 8), rung_2[at]);
	}
	assert_false(order_fits(ORDER_PERIPHERY, 7));
	assert_false(order_fits(ORDER_RUNG_4, 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pairs_meet), cmocka_unit_test(orders_are_permutations),
		cmocka_unit_test(block_table),    cmocka_unit_test(blocks_cover),
		cmocka_unit_test(chunks_cover),   cmocka_unit_test(ring_visits_all),
		cmocka_unit_test(tree_spans),     cmocka_unit_test(hypercube_folds),
		cmocka_unit_test(tree_branches),  cmocka_unit_test(halving_splits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
