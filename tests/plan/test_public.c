/* SPDX-License-Identifier: MIT */
/* <choir/plan.h>: every collective and algorithm is printed, checked and predicted; bad options change nothing. */
#include <choir/plan.h>

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const collectives[] = { "allreduce", "reduce_scatter", "reduce_scatterv",
	                                   "allgather", "allgatherv",     "alltoall",
	                                   "alltoallv", "broadcast",      "reduce",
	                                   "barrier",   "send",           "recv" };

static choir_plan_options usual(const char *collective, int ranks, int per_node)
{
	choir_plan_options o = CHOIR_PLAN_OPTIONS_INIT;

	o.collective = collective;
	o.ranks = ranks;
	o.ranks_per_node = per_node;
	o.bytes = 3600;
	o.dtype = CHOIR_F32;
	return o;
}

/* By that algorithm, or the rules' (NULL). */
static void is_right_by(choir_plan_options o, const char *algorithm)
{
	choir_plan_prediction p = { .struct_size = sizeof p };
	char *report;

	o.algorithm = algorithm;
	if (choir_plan_check(&o, &report) != CHOIR_SUCCESS)
		fail_msg("%s", choir_last_error());
	assert_non_null(strstr(report, ": right"));
	free(report);
	if (choir_plan_predict(&o, NULL, &p, NULL) != CHOIR_SUCCESS)
		fail_msg("%s", choir_last_error());
	assert_true(p.seconds > 0 || o.bytes == 0);
	if (algorithm)
		assert_string_equal(p.algorithm, algorithm);
}

static void are_right(choir_plan_options o)
{
	json_t *list, *entry;
	size_t i, n_chosen = 0;
	char *text;

	assert_int_equal(choir_plan_algorithms(&o, &text), CHOIR_SUCCESS);
	list = json_loads(text, 0, NULL);
	free(text);
	assert_true(json_array_size(list) > 0);
	json_array_foreach(list, i, entry)
	{
		n_chosen += json_is_true(json_object_get(entry, "chosen"));
		if (json_is_null(json_object_get(entry, "unfit")))
			is_right_by(o, json_string_value(json_object_get(entry, "name")));
	}
	assert_int_equal(n_chosen, 1);
	is_right_by(o, NULL);
	json_decref(list);
}

static void every_algorithm_is_right(void **state)
{
	static const int layouts[][2] = { { 2, 0 }, { 5, 0 }, { 3, 1 }, { 5, 2 }, { 8, 2 } };

	(void)state;
	for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++)
		for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
			choir_plan_options o = usual(collectives[c], layouts[l][0], layouts[l][1]);

			are_right(o);
			o.staged = 1;
			are_right(o);
			o.staged = 0;
			o.shared = layouts[l][1] == 0;
			are_right(o);
			o.bytes = 0;
			are_right(o);
			o.bytes = 3600;
			o.in_place = c != 6 && c < 9;
			are_right(o);
		}
}

static void rules_are_followed(void **state)
{
	choir_plan_options o = usual("allreduce", 4, 1);
	choir_plan_prediction p = { .struct_size = sizeof p };

	(void)state;
	o.rules = "allreduce: 0-1k recursive_doubling; 1k- ring";
	assert_int_equal(choir_plan_predict(&o, NULL, &p, NULL), CHOIR_SUCCESS);
	assert_string_equal(p.algorithm, "ring");
	o.bytes = 1000;
	assert_int_equal(choir_plan_predict(&o, NULL, &p, NULL), CHOIR_SUCCESS);
	assert_string_equal(p.algorithm, "recursive_doubling");
	o.rules = "allreduce: by magic";
	assert_int_equal(choir_plan_predict(&o, NULL, &p, NULL), CHOIR_ARGUMENT);
}

/* The value of the key in the algorithm's entry of choir_plan_algorithms, for the caller to json_decref. */
static json_t *said_of(const choir_plan_options *o, const char *algorithm, const char *key)
{
	json_t *list, *entry, *said = NULL;
	char *text;
	size_t i;

	assert_int_equal(choir_plan_algorithms(o, &text), CHOIR_SUCCESS);
	list = json_loads(text, 0, NULL);
	free(text);
	json_array_foreach(list, i, entry)
	{
		if (strcmp(json_string_value(json_object_get(entry, "name")), algorithm) == 0)
			said = json_incref(json_object_get(entry, key));
	}
	json_decref(list);
	assert_non_null(said);
	return said;
}

/* order_ranks: what does not fold in rank order is unfit, as far as the data type needs it. */
static void order_is_kept(void **state)
{
	choir_plan_options o = usual("allreduce", 6, 1);
	choir_plan_prediction p = { .struct_size = sizeof p };
	json_t *unfit;

	(void)state;
	o.order_ranks = 1;
	unfit = said_of(&o, "ring", "unfit");
	assert_string_equal(json_string_value(unfit), "does not fold in rank order");
	json_decref(unfit);
	unfit = said_of(&o, "rank_chain", "unfit");
	assert_true(json_is_null(unfit));
	json_decref(unfit);
	o.rules = "allreduce: ring";
	assert_int_equal(choir_plan_predict(&o, NULL, &p, NULL), CHOIR_SUCCESS);
	assert_string_not_equal(p.algorithm, "ring");
	o.algorithm = "ring";
	assert_int_equal(choir_plan_check(&o, NULL), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "\"ring\" does not fold in rank order"));
	o.dtype = CHOIR_I32;
	assert_int_equal(choir_plan_check(&o, NULL), CHOIR_SUCCESS);
	o.dtype = CHOIR_F16;
	o.algorithm = "rank_chain";
	assert_int_equal(choir_plan_check(&o, NULL), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "rounds after each rank"));
	o.struct_size = offsetof(choir_plan_options, order_ranks); /* of a caller that is older */
	assert_int_equal(choir_plan_check(&o, NULL), CHOIR_SUCCESS);
	for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++)
		for (int per_node = 0; per_node < 3; per_node++) {
			o = usual(collectives[c], 5, per_node);
			o.order_ranks = 1;
			are_right(o);
		}
}

static void prints_all_formats(void **state)
{
	choir_plan_options o = usual("allreduce", 3, 1);
	char *text;
	json_t *root;

	(void)state;
	assert_int_equal(choir_plan_text(&o, 1, CHOIR_PLAN_TEXT, &text), CHOIR_SUCCESS);
	assert_non_null(strstr(text, "rank 1: plan "));
	assert_null(strstr(text, "rank 0: plan "));
	free(text);
	assert_int_equal(choir_plan_text(&o, CHOIR_PLAN_ALL_RANKS, CHOIR_PLAN_DOT, &text), CHOIR_SUCCESS);
	assert_non_null(strstr(text, "subgraph cluster_r2 {"));
	assert_non_null(strstr(text, "[color=blue];"));
	free(text);
	o.algorithm = "ring";
	assert_int_equal(choir_plan_text(&o, CHOIR_PLAN_ALL_RANKS, CHOIR_PLAN_JSON, &text), CHOIR_SUCCESS);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "algorithm")), "ring");
	assert_int_equal(json_array_size(json_object_get(root, "plans")), 3);
	json_decref(root);
	free(text);
}

/* Refuses, says why, and leaves the text alone. */
static void refuses(choir_plan_options o, choir_status wanted, const char *why)
{
	char untouched = 0, *text = &untouched;
	choir_plan_prediction p = { .struct_size = sizeof p, .seconds = 7 };

	assert_int_equal(choir_plan_text(&o, 0, CHOIR_PLAN_TEXT, &text), wanted);
	if (!strstr(choir_last_error(), why))
		fail_msg("it says \"%s\" where \"%s\" was expected", choir_last_error(), why);
	assert_int_equal(choir_plan_check(&o, &text), wanted);
	assert_ptr_equal(text, &untouched);
	assert_int_equal(choir_plan_predict(&o, NULL, &p, NULL), wanted);
	assert_true(p.seconds == 7);
}

static void bad_options_are_named(void **state)
{
	choir_plan_options o;

	(void)state;
	refuses(usual(NULL, 2, 0), CHOIR_ARGUMENT, "no collective");
	refuses(usual("allreduces", 2, 0), CHOIR_ARGUMENT, "\"allreduces\" is no collective");
	refuses(usual("sparse_allreduce", 2, 0), CHOIR_UNSUPPORTED, "no plan");
	refuses(usual("allreduce", 0, 0), CHOIR_ARGUMENT, "0 ranks");
	refuses(usual("allreduce", 1 << 20, 0), CHOIR_ARGUMENT, "1048576 ranks");
	refuses(usual("allreduce", 2, -1), CHOIR_ARGUMENT, "-1 ranks per node");
	refuses(usual("send", 1, 0), CHOIR_ARGUMENT, "two ranks");
	o = usual("allreduce", 2, 0);
	o.struct_size = 9999;
	refuses(o, CHOIR_ARGUMENT, "struct_size is 9999");
	o = usual("allreduce", 2, 0);
	o.bytes = 5;
	refuses(o, CHOIR_ARGUMENT, "5 bytes of f32");
	o = usual("allreduce", 2, 0);
	o.dtype = 99;
	refuses(o, CHOIR_ARGUMENT, "number 99");
	o = usual("broadcast", 2, 0);
	o.bytes = (size_t)1 << 50;
	refuses(o, CHOIR_UNSUPPORTED, "less than 4194304 pieces");
	o = usual("broadcast", 2, 0);
	o.root = 2;
	refuses(o, CHOIR_ARGUMENT, "root is 2 of 2");
	o = usual("alltoallv", 2, 0);
	o.in_place = 1;
	refuses(o, CHOIR_ARGUMENT, "never in place");
	o = usual("allreduce", 4, 2);
	o.shared = 1;
	refuses(o, CHOIR_ARGUMENT, "shared");
	o = usual("allreduce", 2, 0);
	o.slot_bytes = 5000;
	refuses(o, CHOIR_ARGUMENT, "slots of 5000");
	o = usual("broadcast", 4, 1);
	o.message_bytes = SIZE_MAX;
	refuses(o, CHOIR_ARGUMENT, "messages of 18446744073709551615 bytes: 64 to 1073741824");
	o = usual("allreduce", 2, 0);
	o.order_ranks = 2;
	refuses(o, CHOIR_ARGUMENT, "order_ranks is 2");
	o = usual("allreduce", 2, 0);
	o.algorithm = "magic";
	refuses(o, CHOIR_ARGUMENT, "no algorithm \"magic\"");
	o.algorithm = "hier_ring";
	refuses(o, CHOIR_UNSUPPORTED, "needs two nodes");
}

static void other_arguments_are_checked(void **state)
{
	choir_plan_options o = usual("allreduce", 2, 1);
	choir_plan_costs costs = { .struct_size = sizeof costs };
	choir_plan_prediction p = { .struct_size = sizeof p };
	double finish[2];
	char *text;

	(void)state;
	assert_int_equal(choir_plan_text(&o, 2, CHOIR_PLAN_TEXT, &text), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_text(&o, -2, CHOIR_PLAN_TEXT, &text), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_text(&o, 0, 3, &text), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_text(&o, 0, CHOIR_PLAN_TEXT, NULL), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_text(NULL, 0, CHOIR_PLAN_TEXT, &text), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_algorithms(&o, NULL), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_check(&o, NULL), CHOIR_SUCCESS);
	assert_int_equal(choir_plan_costs_default(NULL), CHOIR_ARGUMENT);
	assert_int_equal(choir_plan_costs_default(&costs), CHOIR_SUCCESS);
	assert_int_equal(choir_plan_predict(&o, &costs, &p, finish), CHOIR_SUCCESS);
	assert_true(p.seconds == (finish[0] > finish[1] ? finish[0] : finish[1]));
	costs.network_GBps = 0;
	assert_int_equal(choir_plan_predict(&o, &costs, &p, NULL), CHOIR_ARGUMENT);
	assert_non_null(strstr(choir_last_error(), "the network's rate is 0"));
	p.struct_size = 1;
	assert_int_equal(choir_plan_predict(&o, NULL, &p, NULL), CHOIR_ARGUMENT);
}

static void costs_count(void **state)
{
	choir_plan_options o = usual("allreduce", 8, 1);
	choir_plan_costs costs = { sizeof costs, 10, 1, 0, 0, 10, 1, 0, 0, 1e9, 1e9, 0, 0, 1e9 };
	choir_plan_prediction p = { .struct_size = sizeof p };

	(void)state;
	o.algorithm = "ring";
	o.bytes = 8 * 64000;
	assert_int_equal(choir_plan_predict(&o, &costs, &p, NULL), CHOIR_SUCCESS);
	/* 10 us and 64 KB at 1 GB/s, 14 times */
	assert_true(p.seconds > 14 * 74e-6 * 0.999999 && p.seconds < 14 * 74e-6 * 1.000001);
	assert_int_equal(p.messages, 14 * 8);
	assert_int_equal(p.network_bytes, 14 * 8 * 64000);
}

static void too_many_steps_to_check(void **state)
{
	choir_plan_options o = usual("allreduce", 300, 1);
	char *report;

	(void)state;
	o.algorithm = "ring";
	o.bytes = 4 * 300 * 16;
	assert_int_equal(choir_plan_check(&o, &report), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "can be checked"));
}

/* What would take more than 1 GB of memory is refused before it is taken. */
static void too_many_bytes_to_check(void **state)
{
	choir_plan_options o = usual("allreduce", 16, 16);
	char *report = NULL;

	(void)state;
	o.bytes = (size_t)8 << 20;
	assert_int_equal(choir_plan_check(&o, &report), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "MB of memory"));
	o.bytes = (size_t)1 << 50;
	assert_int_equal(choir_plan_check(&o, &report), CHOIR_UNSUPPORTED);
	o = usual("alltoallv", 16384, 1);
	o.bytes = 4;
	assert_int_equal(choir_plan_check(&o, &report), CHOIR_UNSUPPORTED);
	assert_null(report);
}

/* Every rank waits for every other, or reads its slot: few steps, but references and dependencies by the square. */
static void too_many_references_to_check(void **state)
{
	static const char *const calls[][2] = { { "barrier", "flags" }, { "allreduce", "oneshot" } };

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		choir_plan_options o = usual(calls[i][0], 8000, 0);

		o.algorithm = calls[i][1];
		o.bytes = i > 0 ? 4 : 0;
		assert_int_equal(choir_plan_check(&o, NULL), CHOIR_UNSUPPORTED);
		assert_non_null(strstr(choir_last_error(), "can be checked"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_algorithm_is_right),
		cmocka_unit_test(rules_are_followed),
		cmocka_unit_test(order_is_kept),
		cmocka_unit_test(prints_all_formats),
		cmocka_unit_test(bad_options_are_named),
		cmocka_unit_test(costs_count),
		cmocka_unit_test(other_arguments_are_checked),
		cmocka_unit_test(too_many_steps_to_check),
		cmocka_unit_test(too_many_bytes_to_check),
		cmocka_unit_test(too_many_references_to_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
