/* SPDX-License-Identifier: MIT */
/* Every algorithm, through the checker: all rank counts, layouts, lengths, roots and kinds of buffers.
 * argv[1]: a collective's name, or "table", to test that only. */
#include "plan/cases.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOT_BYTES    4096
#define MESSAGE_BYTES 256
#define ELEM_BYTES    4
/* From so many ranks on modes take turns (one a count, layout and n), and so do elements of other sizes. */
#define MANY     6
#define MOST_OWN 9
#define CROWD    9 /* from so many ranks on, so do counts: three of them a layout and n */

static struct {
	unsigned long cases, unfit, steps;
	bool disproved; /* a case does not keep the next stricter order */
} seen;

/* What the table says of an algorithm's order must be all that it keeps: some case refutes the next stricter order. */
static void look_for_disorder(struct world *world)
{
	enum plan_order stricter = world->algorithm->fold_order + 1;

	if (stricter <= PLAN_ORDER_ONCE && !seen.disproved && world->n > 2)
		seen.disproved = !checker_folds(world, stricter, 0);
}

static void check(const struct algorithm *algorithm, const struct check_case *c)
{
	struct world world;

	if (!checker_build(algorithm, c, &world)) {
		seen.unfit++;
		if (strncmp(world.why, "unfit: ", 7) != 0)
			fail_msg("%s", world.why);
		world_free(&world);
		return;
	}
	seen.cases++;
	for (int r = 0; r < world.n; r++)
		seen.steps += world.plans[r].n_steps;
	if (!checker_verify(&world) || (c->n < MANY && c->elem_bytes == ELEM_BYTES && !checker_run(&world, 0)) ||
	    !checker_run(&world, (unsigned)seen.cases)) {
		print_error("n %d nodes %d bytes %lu elem %lu root %d in place %d%d staged %d%d%d displaced %d\n", c->n,
		            world.layout.n_nodes, (unsigned long)c->bytes, (unsigned long)c->elem_bytes, c->root,
		            c->in_place, c->in_place_start, c->send_staged, c->recv_staged, c->odd_staged,
		            c->displaced);
		for (int r = 0; c->bytes < 1024 && r < world.n && r < 4; r++)
			plan_dump(&world.plans[r], stderr);
		fail_msg("%s", world.why);
	}
	look_for_disorder(&world);
	world_free(&world);
}

static bool mode_applies(const struct algorithm *algorithm, const struct case_mode *mode)
{
	enum collective collective = algorithm->collective;

	if (collective_table[collective].send == EXTENT_NOTHING && collective_table[collective].recv == EXTENT_NOTHING)
		return !mode->in_place && !mode->send_staged && !mode->recv_staged;
	if (collective_has(collective, TRAIT_NEVER_IN_PLACE))
		return !mode->in_place;
	return !mode->in_place_start || collective == COLLECTIVE_REDUCE_SCATTER;
}

static void check_modes(const struct algorithm *algorithm, struct check_case c, int turn)
{
	int n_modes = 0, k = 0;

	for (int m = 0; m < CASE_MODES; m++)
		n_modes += mode_applies(algorithm, &case_modes[m]);
	for (int m = 0; m < CASE_MODES; m++) {
		if (!mode_applies(algorithm, &case_modes[m]) ||
		    (k++ != (turn + c.n) % n_modes && (c.n >= MANY || c.elem_bytes != ELEM_BYTES)))
			continue;
		c.in_place = case_modes[m].in_place;
		c.in_place_start = case_modes[m].in_place_start;
		c.send_staged = case_modes[m].send_staged;
		c.recv_staged = case_modes[m].recv_staged;
		c.odd_staged = case_modes[m].odd_staged;
		c.scaled = false;
		c.lists = algorithm->on_device && turn % 2 == 1;
		check(algorithm, &c);
		c.scaled = algorithm->on_device && collective_has(algorithm->collective, TRAIT_REDUCES);
		c.lists = algorithm->on_device && !c.lists;
		if (c.scaled)
			check(algorithm, &c);
	}
}

static void check_roots(const struct algorithm *algorithm, struct check_case c, int turn)
{
	bool p2p = collective_has(algorithm->collective, TRAIT_PAIR);

	for (c.root = p2p; c.root < (collective_has(algorithm->collective, TRAIT_ROOTED) ? c.n : 1); c.root++)
		if (c.n < 6 || c.root == 0 || c.root == c.n - 1 || c.root == c.n / 2)
			check_modes(algorithm, c, turn + c.root);
}

static void check_blocks(const struct algorithm *algorithm, struct check_case c)
{
	static uint64_t blocks[CASE_MAX_RANKS * CASE_MAX_RANKS];
	bool matrix = collective_of_pairs(algorithm->collective);
	size_t n_blocks = (size_t)c.n * (matrix ? (size_t)c.n : 1);

	for (int variant = 0; variant < CASE_BLOCKS; variant++) {
		case_blocks(variant, n_blocks, SLOT_BYTES / ELEM_BYTES, blocks);
		for (size_t i = 0; i < n_blocks; i++)
			blocks[i] *= c.elem_bytes;
		c.block_bytes = blocks;
		for (int displaced = 0; displaced < (algorithm->collective == COLLECTIVE_REDUCE_SCATTERV ? 1 : 2);
		     displaced++) {
			c.displaced = displaced;
			check_roots(algorithm, c, variant + displaced);
		}
	}
}

static void check_counts(const struct algorithm *algorithm, struct check_case c, int turn)
{
	uint64_t counts[CASE_MAX_COUNTS];
	int n_counts =
	    algorithm->collective == COLLECTIVE_BARRIER ? 1 : case_counts(c.n, c.slot_bytes / c.elem_bytes, counts);

	if (collective_has(algorithm->collective, TRAIT_UNEVEN)) {
		check_blocks(algorithm, c);
		return;
	}
	for (int i = 0; i < n_counts; i++) {
		if (c.n >= CROWD && n_counts > 1 && (i + turn + c.n) % n_counts % 3 != 0)
			continue;
		/* Blocks of these come n times over. */
		bool per_rank =
		    collective_sends_blocks(algorithm->collective) || collective_recvs_blocks(algorithm->collective);

		if (per_rank && c.n > 3 && counts[i] * c.elem_bytes >= c.slot_bytes)
			counts[i] = counts[i] / (uint64_t)c.n + 1;
		c.bytes = n_counts == 1 ? 0 : counts[i] * c.elem_bytes;
		check_roots(algorithm, c, turn + i);
	}
}

static void check_ranks(const struct algorithm *algorithm, int n, uint64_t elem_bytes)
{
	int node_of[CASE_MAX_RANKS];
	uint64_t scale = n > 17 ? 16 : n >= CROWD ? 4 : 1;
	struct check_case c = { .n = n,
		                .node_of = node_of,
		                .elem_bytes = elem_bytes,
		                .slot_bytes = SLOT_BYTES / ELEM_BYTES * elem_bytes,
		                .device_bytes = 2 * SLOT_BYTES, /* longer calls take several chunks */
		                .message_bytes = scale * MESSAGE_BYTES / ELEM_BYTES * elem_bytes };

	for (int which = 0; which < CASE_LAYOUTS; which++)
		if (case_layout(which, n, node_of))
			check_counts(algorithm, c, which);
}

static void every_algorithm_at_every_size(void **state)
{
	enum collective collective = *(enum collective *)*state;
	bool p2p = collective_has(collective, TRAIT_PAIR);

	for (size_t i = 0; i < n_algorithms; i++) {
		if (algorithms[i].collective != collective)
			continue;
		memset(&seen, 0, sizeof seen);
		for (int n = 1; n <= (p2p ? 4 : 17); n++) /* p2p: the others have nothing to do */
			check_ranks(&algorithms[i], n, ELEM_BYTES);
		if (!p2p)
			check_ranks(&algorithms[i], 32, ELEM_BYTES);
		for (size_t e = 0; e < 4; e++)
			check_ranks(&algorithms[i], e % 2 ? 3 : 5, (uint64_t[]){ 1, 2, 8, 16 }[e]);
		print_message("%s/%s: %lu cases, %lu steps (%lu unfit)\n", collective_name(collective),
		              algorithms[i].name, seen.cases, seen.steps, seen.unfit);
		assert_true(seen.cases > 0);
		if (collective_has(collective, TRAIT_REDUCES) && algorithms[i].fold_order != PLAN_ORDER_ONCE)
			assert_true(seen.disproved);
	}
}

static void defaults_can_run(void **state)
{
	int node_of[CASE_MAX_RANKS];
	uint64_t blocks[9 * 9] = { 0 };

	(void)state;
	for (int collective = 0; collective < COLLECTIVE_SPARSE_ALLREDUCE; collective++)
		for (int n = 1; n <= 9; n++)
			for (int which = 0; which < CASE_LAYOUTS; which++) {
				struct layout layout;

				if (!case_layout(which, n, node_of))
					continue;
				layout = layout_make(n, node_of);
				for (uint64_t bytes = 0; bytes < 1u << 30; bytes = bytes * 32 + 4) {
					struct algo_in in = { .layout = &layout,
						              .collective = (enum collective)collective,
						              .elem_bytes = 4,
						              .bytes = bytes,
						              .block_bytes = blocks,
						              .send_direct = true,
						              .recv_direct = true,
						              .slot_bytes = 1 << 20,
						              .message_bytes = 1 << 16 };
					const struct algorithm *first = algo_default(&in);

					assert_non_null(first);
					assert_null(first->unfit(&in));
					in.me = n - 1;
					in.send_direct = false;
					assert_ptr_equal(first, algo_default(&in));
				}
				layout_free(&layout);
			}
}

static char *text_of(const struct algorithm *algorithm, const struct algo_in *in)
{
	struct plan plan;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	plan_init(&plan, algorithm->name, in->elem_bytes);
	assert_int_equal(algorithm->build(in, &plan), CHOIR_SUCCESS);
	plan_dump(&plan, out);
	plan_fini(&plan);
	fclose(out);
	return text;
}

/* The plan of an alltoallv from a rank's own blocks is the plan from the blocks of all pairs. */
static void own_blocks_suffice(void **state)
{
	uint64_t pairs[MOST_OWN * MOST_OWN], to[MOST_OWN], from[MOST_OWN];
	int node_of[MOST_OWN];

	(void)state;
	for (int n = 1; n <= MOST_OWN; n++)
		for (int me = 0; me < n; me++) {
			struct layout layout;
			struct algo_in all, own;
			char *want, *got;

			for (int r = 0; r < n; r++)
				node_of[r] = r;
			layout = layout_make(n, node_of);
			case_blocks(3, (size_t)n * (size_t)n, 1000, pairs);
			for (int r = 0; r < n; r++) {
				to[r] = pairs[me * n + r];
				from[r] = pairs[r * n + me];
			}
			all = own = (struct algo_in){ .layout = &layout,
				                      .me = me,
				                      .collective = COLLECTIVE_ALLTOALLV,
				                      .elem_bytes = 1,
				                      .send_direct = true,
				                      .recv_direct = true,
				                      .slot_bytes = SLOT_BYTES,
				                      .message_bytes = MESSAGE_BYTES };
			all.block_bytes = pairs;
			own.to_bytes = to;
			own.from_bytes = from;
			want = text_of(algo_default(&all), &all);
			got = text_of(algo_default(&own), &own);
			assert_string_equal(got, want);
			free(want);
			free(got);
			layout_free(&layout);
		}
}

/* At step s a rank sends to the rank s after it and receives from the rank s before it. */
static void pairwise_rotates(void **state)
{
	enum { N = 5 };
	struct layout layout = layout_make(N, (int[]){ 0, 1, 2, 3, 4 });
	uint64_t blocks[N * N];

	(void)state;
	for (int i = 0; i < N * N; i++)
		blocks[i] = 4;
	for (int me = 0; me < N; me++) {
		struct algo_in in = { .layout = &layout,
			              .me = me,
			              .collective = COLLECTIVE_ALLTOALLV,
			              .elem_bytes = 4,
			              .block_bytes = blocks,
			              .send_direct = true,
			              .recv_direct = true,
			              .message_bytes = MESSAGE_BYTES };
		int sent = 0, received = 0;
		struct plan plan;

		plan_init(&plan, "pairwise", 4);
		assert_int_equal(algo_find(COLLECTIVE_ALLTOALLV, "pairwise")->build(&in, &plan), CHOIR_SUCCESS);
		for (uint32_t i = 0; i < plan.n_steps; i++) {
			if (plan.steps[i].kind == PLAN_SEND_MSG)
				assert_int_equal(plan.steps[i].peer, (me + ++sent) % N);
			if (plan.steps[i].kind == PLAN_RECV_MSG)
				assert_int_equal(plan.steps[i].peer, (me + N - ++received) % N);
		}
		assert_true(sent == N - 1 && received == N - 1);
		plan_fini(&plan);
	}
	layout_free(&layout);
}

static void names_are_found(void **state)
{
	enum collective c = COLLECTIVE_RECV;

	(void)state;
	for (size_t i = 0; i < n_algorithms; i++) {
		assert_ptr_equal(algo_find(algorithms[i].collective, algorithms[i].name), &algorithms[i]);
		assert_true(strlen(algorithms[i].name) < 24); /* call_record.algorithm */
		assert_true(strlen(algorithms[i].about) > 0);
		assert_int_equal(collective_parse(collective_name(algorithms[i].collective), &c), CHOIR_SUCCESS);
		assert_int_equal(c, algorithms[i].collective);
	}
	assert_ptr_equal(algo_find(COLLECTIVE_ALLREDUCE, "clockwise_ring"), algo_find(COLLECTIVE_ALLREDUCE, "ring"));
	assert_ptr_equal(algo_find(COLLECTIVE_ALLGATHER, "bidirectional_ring_pair"),
	                 algo_find(COLLECTIVE_ALLGATHER, "bidirectional_ring"));
	assert_string_equal(algo_find(COLLECTIVE_REDUCE_SCATTER, "broadcast")->name, "pairwise");
	assert_null(algo_find(COLLECTIVE_BARRIER, "clockwise_ring"));
	assert_null(algo_find(COLLECTIVE_BARRIER, "twoshot"));
	assert_int_equal(collective_parse("allreduces", &c), CHOIR_ARGUMENT);
	assert_string_equal(collective_name(N_COLLECTIVES), "unknown");
}

int main(int argc, char **argv)
{
	static enum collective numbers[N_COLLECTIVES];
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(defaults_can_run),
		cmocka_unit_test(own_blocks_suffice),
		cmocka_unit_test(pairwise_rotates),
		cmocka_unit_test(names_are_found),
	};
	enum { OTHERS = sizeof others / sizeof *others };
	struct CMUnitTest tests[N_COLLECTIVES + OTHERS];
	bool table_only = argc > 1 && strcmp(argv[1], "table") == 0;
	size_t n = argc > 1 && !table_only ? 0 : OTHERS;

	memcpy(tests, others, sizeof others);
	/* Keep freed memory: giving it back and faulting it in again for each case was a third of the time. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (int c = 0; c < COLLECTIVE_SPARSE_ALLREDUCE; c++) {
		numbers[c] = (enum collective)c;
		if (argc > 1 && strcmp(argv[1], collective_name(numbers[c])) != 0)
			continue;
		tests[n++] = (struct CMUnitTest){ .name = collective_name(numbers[c]),
			                          .test_func = every_algorithm_at_every_size,
			                          .initial_state = &numbers[c] };
	}
	if (n == 0) {
		fprintf(stderr, "there are no plans for '%s'\n", argv[1]);
		return 2;
	}
	return _cmocka_run_group_tests("algo", tests, n, NULL, NULL);
}
