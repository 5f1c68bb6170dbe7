/* SPDX-License-Identifier: MIT */
/* Rule text: what it chooses, and that a mistake is found with its line and word. */
#include "algo/rules.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 16 };

/* What n ranks of a node choose; in: what is not the same for all. */
static const char *chosen_by(const struct rules *rules, int n, struct algo_in in)
{
	int node_of[MOST] = { 0 }, ranks[MOST], node_size[] = { n }, node_first[] = { 0, n };
	const struct layout layout = { .n = n,
		                       .n_nodes = 1,
		                       .node_of = node_of,
		                       .local_rank_of = ranks,
		                       .node_size = node_size,
		                       .node_first = node_first,
		                       .node_ranks = ranks,
		                       .min_node_size = n,
		                       .max_node_size = n };

	for (int r = 0; r < n; r++)
		ranks[r] = r;
	in.layout = &layout;
	in.elem_bytes = 4;
	in.slot_bytes = 1 << 20;
	in.message_bytes = 1 << 16;
	return rules_choose(rules, &in)->name;
}

/* Three ranks, for an allreduce unless in says otherwise. */
static const char *chosen_of(const struct rules *rules, struct algo_in in)
{
	return chosen_by(rules, 3, in);
}

static const char *chosen(const struct rules *rules, uint64_t bytes, bool shared)
{
	return chosen_of(
	    rules, (struct algo_in){ .bytes = bytes, .send_direct = true, .recv_direct = true, .shared = shared });
}

/* Note [far or on the device] in algo_default.c: three ranks, 100 KB a command. */
static void rates_choose_the_device(void **state)
{
	static const struct rules none;
	struct algo_in in = { .device_bytes = 8 << 20, .command_bytes = 100000, .far_memory = true };

	(void)state;
	in.bytes = 399996;
	assert_string_equal(chosen_of(&none, in), "twoshot");
	in.bytes = 400000;
	assert_string_equal(chosen_of(&none, in), "device");
	in.peer_percent = 75; /* copies take three quarters of the bus's time: as if they took none */
	assert_string_equal(chosen_of(&none, in), "device");
	in.peer_percent = 100; /* 2 ranks' commands / (1 - 2 / 3) */
	in.bytes = 599996;
	assert_string_equal(chosen_of(&none, in), "twoshot");
	in.bytes = 600000;
	assert_string_equal(chosen_of(&none, in), "device");
	in.bytes = 64 << 20;
	in.peer_percent = 149;
	assert_string_equal(chosen_of(&none, in), "device");
	in.peer_percent = 150;
	assert_string_equal(chosen_of(&none, in), "twoshot");
	in.command_bytes = 0; /* not measured */
	in.bytes = 128 * 1024 - 4;
	assert_string_equal(chosen_of(&none, in), "twoshot");
	in.bytes = 128 * 1024;
	assert_string_equal(chosen_of(&none, in), "device");
	in.lists = 1000; /* so many buffers of 1 KB, then a little less */
	in.bytes = 1000 << 10;
	assert_string_equal(chosen_of(&none, in), "device");
	in.bytes -= 4;
	assert_string_equal(chosen_of(&none, in), "twoshot");
	in.lists = 0;
	assert_string_equal(chosen_of(&none, in), "device");
	in.device_bytes = 0;
	assert_string_equal(chosen_of(&none, in), "twoshot");
}

/* However long a scan is: the pieces that pass along the ranks are for memory of the host.  Its last rank copies the
 * inputs of two. */
static void a_long_scan_stays_on_the_device(void **state)
{
	static const struct rules none;
	struct algo_in in = { .collective = COLLECTIVE_SCAN,
		              .device_bytes = 8 << 20,
		              .command_bytes = 100000,
		              .far_memory = true,
		              .peer_percent = 50 };

	(void)state;
	in.bytes = 399996;
	assert_string_equal(chosen_of(&none, in), "slots");
	in.bytes = 400000;
	assert_string_equal(chosen_of(&none, in), "device");
	in.bytes = 64 << 20;
	assert_string_equal(chosen_of(&none, in), "device");
	in.peer_percent = 100;
	assert_string_equal(chosen_of(&none, in), "chain");
	in.collective = COLLECTIVE_EXSCAN;
	assert_string_equal(chosen_of(&none, in), "chain");
	in.peer_percent = 99;
	assert_string_equal(chosen_of(&none, in), "device");
}

/* What n ranks that share memory choose for blocks of so many bytes. */
static const char *chosen_for_blocks(enum collective collective, int n, uint64_t block)
{
	static const struct rules none;
	bool uneven = collective_has(collective, TRAIT_UNEVEN);
	uint64_t blocks[MOST];

	for (int r = 0; r < n; r++)
		blocks[r] = block;
	return chosen_by(&none, n,
	                 (struct algo_in){ .collective = collective,
	                                   .bytes = uneven ? block * (uint64_t)n : block,
	                                   .block_bytes = uneven ? blocks : NULL,
	                                   .send_direct = true,
	                                   .recv_direct = true,
	                                   .shared = true });
}

static void equal_blocks_of_v_forms_go_as_the_plain_ones(void **state)
{
	static const enum collective pairs[][2] = { { COLLECTIVE_REDUCE_SCATTERV, COLLECTIVE_REDUCE_SCATTER },
		                                    { COLLECTIVE_ALLGATHERV, COLLECTIVE_ALLGATHER },
		                                    { COLLECTIVE_GATHERV, COLLECTIVE_GATHER },
		                                    { COLLECTIVE_SCATTERV, COLLECTIVE_SCATTER } };

	(void)state;
	for (int i = 0; i < 4; i++)
		for (int n = 2; n <= MOST; n++)
			for (uint64_t block = 4; block <= 1 << 20; block *= 2)
				assert_string_equal(chosen_for_blocks(pairs[i][0], n, block),
				                    chosen_for_blocks(pairs[i][1], n, block));
}

enum { NODES = 10 };

/* An allgatherv of ten nodes of a rank each. */
static const char *chosen_of_blocks(const uint64_t *blocks)
{
	static const struct rules none;
	static const int local_rank_of[NODES];
	int node[NODES + 1], sizes[NODES];
	const struct layout layout = { .n = NODES,
		                       .n_nodes = NODES,
		                       .node_of = node,
		                       .local_rank_of = local_rank_of,
		                       .node_size = sizes,
		                       .node_first = node,
		                       .node_ranks = node,
		                       .min_node_size = 1,
		                       .max_node_size = 1 };
	struct algo_in in = { .layout = &layout,
		              .collective = COLLECTIVE_ALLGATHERV,
		              .elem_bytes = 1,
		              .block_bytes = blocks,
		              .send_direct = true,
		              .recv_direct = true,
		              .message_bytes = 1 << 16 };

	for (int r = 0; r < NODES; r++) {
		node[r] = r;
		sizes[r] = 1;
		in.bytes += blocks[r];
	}
	node[NODES] = NODES;
	return rules_choose(&none, &in)->name;
}

/* The link of a rank with one long block would carry it to every other rank. */
static void a_long_block_goes_round(void **state)
{
	uint64_t blocks[NODES];

	(void)state;
	for (int r = 0; r < NODES; r++)
		blocks[r] = 1000;
	assert_string_equal(chosen_of_blocks(blocks), "broadcast");
	for (int r = 0; r < NODES; r++)
		blocks[r] = r == 3 ? 1000 * NODES : 0;
	assert_string_not_equal(chosen_of_blocks(blocks), "broadcast");
}

static void the_first_rule_that_holds_decides(void **state)
{
	static const char text[] =
	    "# measured\nbroadcast: 0- slots\n\nallreduce:\n\tranks=3 & 64k- direct # where memory is shared\n"
	    "\tnodes=1 & ranks=3 & 4k-1m twoshot; ranks<3 0- ring\n\tnodes>=1 & 2m-4m recursive_doubling\n";
	struct rules rules;

	(void)state;
	assert_int_equal(rules_parse(text, &rules), CHOIR_SUCCESS);
	assert_string_equal(chosen(&rules, 4096, true), "twoshot");
	assert_string_equal(chosen(&rules, 65535, true), "twoshot");
	assert_string_equal(chosen(&rules, 65536, true), "direct");
	assert_string_equal(chosen(&rules, 65536, false), "twoshot");
	assert_string_equal(chosen(&rules, 2 << 20, false), "recursive_doubling");
	assert_string_equal(chosen(&rules, 8, false), "oneshot"); /* the built-in choice */
	rules_free(&rules);
}

static void assert_costs(const char *text, enum link_class link, enum cost_term term, float ns)
{
	struct rules rules;

	assert_int_equal(rules_parse(text, &rules), CHOIR_SUCCESS);
	if (rules.costs.ns[link][term] != ns)
		fail_msg("\"%s\": %s %s is %g, not %g", text != NULL ? text : "", link_costs_links[link],
		         link_costs_terms[term], (double)rules.costs.ns[link][term], (double)ns);
	rules_free(&rules);
}

/* What is not given stays; of what is given twice the first counts, as of rules. */
static void costs_are_read(void **state)
{
	static const char text[] =
	    "costs: network alpha=70000 beta=9.25; shared merge=7 # measured\n\tnode fold = 0\nallreduce: 0- ring\n"
	    "costs: network beta=1 sigma=0.5";

	(void)state;
	assert_costs(NULL, LINK_NETWORK, COST_ALPHA, 60000);
	assert_costs("allreduce: 0- ring", LINK_SHARED, COST_BETA, 0.15F);
	assert_costs(text, LINK_NETWORK, COST_ALPHA, 70000);
	assert_costs(text, LINK_NETWORK, COST_BETA, 9.25F);
	assert_costs(text, LINK_NETWORK, COST_SIGMA, 0.5F);
	assert_costs(text, LINK_SHARED, COST_MERGE, 7);
	assert_costs(text, LINK_SHARED, COST_ALPHA, 8000);
	assert_costs(text, LINK_NODE, COST_FOLD, 0);
}

static void mistakes_have_a_line_and_a_word(void **state)
{
	static const struct {
		const char *text, *says[3];
	} wrong[] = {
		{ "allreduce: 0-16q oneshot", { "line 1", "has no algorithm 'q'", NULL } },
		{ "allreduce: 0- oneshot\n\nallgather: 0- slots\nallreduce: 16k- rong", { "line 4", "'rong'", NULL } },
		{ "\n\nallreduces: 0- ring", { "line 3", "\"allreduces\"", NULL } },
		{ "# only ring\n0- ring", { "line 2", "a collective's name", "'0-'" } },
		{ "allreduce: 4k ring", { "line 1", "a range of bytes", "'4k'" } },
		{ "allreduce: nodes~1 ring", { "line 1", "a comparison", "'~1'" } },
		{ "allreduce: 0- ring 5", { "line 1", "';' after a rule", "'5'" } },
		{ "allreduce: 0-\n", { "line 1", "an algorithm", "the end of the line" } },
		{ "costs: wan alpha=5", { "line 1", "shared, node or network", "'wan'" } },
		{ "costs:\n\tnetwork alpha=5\n\tnetwork gamma=5",
		  { "line 3", "alpha, beta, sigma, merge or fold", "'gamma=5'" } },
		{ "costs: network alpha 5", { "line 1", "'=' and a number", "'5'" } },
		{ "costs: network alpha=-5", { "line 1", "a number of nanoseconds", "'-5'" } },
		{ "costs: network alpha=1000000000001", { "line 1", "a number of nanoseconds", NULL } },
		{ "costs: network alpha=1e3", { "line 1", "alpha, beta", "'e3'" } },
		{ "costs: 0- ring", { "line 1", "shared, node or network", "'0-'" } },
		{ "allreduce: 0-", { "line 1", "an algorithm", "the end" } },
	};
	struct rules rules = { .n = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(rules_parse(wrong[i].text, &rules), CHOIR_ARGUMENT);
		for (size_t w = 0; w < 3 && wrong[i].says[w] != NULL; w++)
			if (strstr(error_text(), wrong[i].says[w]) == NULL)
				fail_msg("\"%s\" does not say \"%s\"", error_text(), wrong[i].says[w]);
	}
	assert_int_equal(rules.n, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rule_that_holds_decides),
		cmocka_unit_test(rates_choose_the_device),
		cmocka_unit_test(a_long_scan_stays_on_the_device),
		cmocka_unit_test(a_long_block_goes_round),
		cmocka_unit_test(equal_blocks_of_v_forms_go_as_the_plain_ones),
		cmocka_unit_test(costs_are_read),
		cmocka_unit_test(mistakes_have_a_line_and_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
