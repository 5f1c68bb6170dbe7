/* SPDX-License-Identifier: MIT */
#include "base/dtype.h"
#include "bench/args/args.h"
#include "lib/number.h"
#include "lib/stats.h"
#include "unit.h"

#include <string.h>

static void sizes_are_read(void **state)
{
	size_t bytes = 7;
	double share;
	char text[16];

	(void)state;
	assert_true(number_bytes("8", &bytes) && bytes == 8);
	assert_true(number_bytes("64K", &bytes) && bytes == 65536);
	assert_true(number_bytes("1.5MiB", &bytes) && bytes == 3 << 19);
	assert_true(number_bytes("2g", &bytes) && bytes == (size_t)2 << 30);
	for (const char *const *bad =
	         (const char *const[]){ "", "K", "-1", "8X", "0x10", "1.3", "8KK", "inf", " 8", "1e30", NULL };
	     *bad != NULL; bad++)
		assert_false(number_bytes(*bad, &bytes));
	assert_int_equal(bytes, (size_t)2 << 30);
	assert_true(number_share("5%", &share) && share == 0.05);
	assert_true(number_share("0.25", &share) && share == 0.25);
	assert_false(number_share("5%%", &share) || number_share("-1", &share) || number_share("", &share));
	assert_string_equal(number_print_bytes(8, text), "8");
	assert_string_equal(number_print_bytes(65536, text), "64K");
	assert_string_equal(number_print_bytes(1536, text), "1.5K");
}

static void percentiles_are_nearest_ranks(void **state)
{
	double values[100], one[] = { 3 }, two[] = { 4, 2 };
	struct stats s;

	(void)state;
	for (int i = 0; i < 100; i++)
		values[i] = 100 - i;
	s = stats_of(values, 100);
	assert_true(s.min == 1 && s.max == 100 && s.p50 == 50.5 && s.p95 == 95 && s.p99 == 99);
	assert_float_equal(s.mean, 50.5, 1e-9);
	s = stats_of(one, 1);
	assert_true(s.min == 3 && s.p50 == 3 && s.p99 == 3);
	s = stats_of(two, 2);
	assert_true(s.p50 == 3 && s.p99 == 4);
}

static int count(const char **argv)
{
	int n = 0;

	while (argv[n] != NULL)
		n++;
	return n;
}

#define PARSE(args, error, ...)                                                                                        \
	args_parse(count((const char *[]){ "choir-bench", __VA_ARGS__, NULL }),                                        \
	           (const char *[]){ "choir-bench", __VA_ARGS__, NULL }, args, error)

static void defaults_and_flags(void **state)
{
	struct args args;
	char error[ARGS_ERROR_BYTES];

	(void)state;
	assert_true(PARSE(&args, error, "allreduce"));
	assert_string_equal(args.collectives[0], "allreduce");
	assert_true(args.begin == 8 && args.end == 64 << 20 && args.factor == 8 && args.step == 0 &&
	            args.iterations == 20);
	assert_true(args.n_dtypes == 1 && args.dtypes[0] == CHOIR_F32 && args.n_ops == 1 &&
	            args.ops[0] == CHOIR_OP_SUM);
	assert_true(args.memory == MEMORY_DEVICE && args.n_vs == 0 && args.sparse.zipf == 1 &&
	            args.sparse.ids == IDS_ZIPF && args.json_path == NULL);
	args_fini(&args);
	assert_true(PARSE(&args, error, "-b", "4K", "-e", "1M", "-f", "2", "-n", "3", "-t", "f16,i8", "-o", "max",
	                  "reduce", "-r", "1", "--vs", "mpi,bound", "--json", "-", "-m", "host", "--devices", "0:0,1:0",
	                  "--local", "2", "broadcast"));
	assert_true(args.begin == 4096 && args.end == 1 << 20 && args.factor == 2 && args.n_collectives == 2 &&
	            args.root == 1);
	assert_true(args.n_dtypes == 2 && args.dtypes[1] == CHOIR_I8 && args.ops[0] == CHOIR_OP_MAX &&
	            args.memory == MEMORY_HOST);
	assert_true(args.n_vs == 2 && args.n_devices == 2 && args.local == 2);
	assert_string_equal(args.devices[1], "1:0");
	assert_string_equal(args.vs[1], "bound");
	args_fini(&args);
	assert_true(PARSE(&args, error, "allreduce", "--memory", "symmetric-device") &&
	            args.memory == MEMORY_SYMMETRIC_DEVICE);
	args_fini(&args);
	assert_true(PARSE(&args, error, "all", "-t", "all", "-o", "all"));
	assert_true(args.n_dtypes == N_DTYPES && args.n_ops == N_OPS);
	args_fini(&args);
	assert_true(PARSE(&args, error, "--tune") && args.tune && args.tune_path == NULL && args.all_algorithms &&
	            args.n_collectives == 6);
	assert_true(args.begin == 64 && args.end == 16 << 20 && args.factor == 4);
	args_fini(&args);
	assert_true(PARSE(&args, error, "--tune=x.rules", "reduce", "-b", "1K") && args.n_collectives == 1 &&
	            args.begin == 1024);
	assert_string_equal(args.tune_path, "x.rules");
	args_fini(&args);
	assert_true(PARSE(&args, error, "--tune", "sparse_allreduce") && args.tune && args.tune_path == NULL &&
	            args.n_collectives == 1);
	assert_string_equal(args.collectives[0], "sparse_allreduce");
	args_fini(&args);
	assert_true(PARSE(&args, error, "allreduce", "--algorithm", "all") && args.all_algorithms &&
	            args_forced(&args) == NULL);
	args_fini(&args);
	assert_true(PARSE(&args, error, "allreduce", "--algorithm", "ring,twoshot") && args.all_algorithms &&
	            args_forced(&args) == NULL);
	args_fini(&args);
	assert_true(PARSE(&args, error, "--trainer", "step.list", "--compute", "2.5") && args.n_collectives == 0 &&
	            args.compute_ms == 2.5);
	assert_string_equal(args.trainer_path, "step.list");
	args_fini(&args);
	assert_true(PARSE(&args, error, "--tensors", "4,8"));
	assert_string_equal(args.tensors, "4,8");
	args_fini(&args);
	assert_true(PARSE(&args, error, "--compare", "a.json", "b.json", "--fail-over", "10%"));
	assert_string_equal(args.compare_old, "a.json");
	assert_string_equal(args.compare_new, "b.json");
	args_fini(&args);
	assert_true(PARSE(&args, error, "--compare=a.json", "b.json"));
	assert_string_equal(args.compare_old, "a.json");
	assert_string_equal(args.compare_new, "b.json");
	args_fini(&args);
	assert_true(PARSE(&args, error, "topk", "--compare") && args.compare_old == NULL && args.all_algorithms);
	assert_string_equal(args.algorithm, "all");
	args_fini(&args);
	assert_true(PARSE(&args, error, "topk", "--compare", "--algorithm", "oktopk,spardl"));
	assert_string_equal(args.algorithm, "oktopk,spardl");
	assert_string_equal(args.sparse.result, "dense");
	args_fini(&args);
	assert_true(PARSE(&args, error, "topk", "--result=pairs"));
	assert_string_equal(args.sparse.result, "pairs");
	args_fini(&args);
}

static void sparse_flags(void **state)
{
	struct args args;
	char error[ARGS_ERROR_BYTES];

	(void)state;
	assert_true(PARSE(&args, error, "sparse_allreduce", "--density", "1%,50%", "--range", "1000", "--uniform",
	                  "--index", "i64"));
	assert_true(args.n_rows == 2 && args.rows[0] == 10 && args.rows[1] == 500 && args.sparse.rows == 10);
	assert_true(args.sparse.ids == IDS_UNIFORM && args.sparse.index_dtype == CHOIR_I64 && !args.sparse.hot &&
	            args.sparse.lists == 2);
	args_fini(&args);
	assert_true(
	    PARSE(&args, error, "sparse_allreduce", "--zipf=1.2", "--rows", "0", "--hot", "--empty", "--permuted"));
	assert_true(args.sparse.zipf == 1.2 && args.n_rows == 1 && args.rows[0] == 0 && args.sparse.ids == IDS_ZIPF);
	assert_true(args.sparse.hot && args.sparse.empty && args.sparse.permuted);
	args_fini(&args);
	assert_true(PARSE(&args, error, "sparse_allreduce", "--zipf", "--rows", "7,8K"));
	assert_true(args.sparse.zipf == 1 && args.n_rows == 2 && args.rows[0] == 7 && args.rows[1] == 8192);
	args_fini(&args);
	assert_true(PARSE(&args, error, "--zipf", "sparse_allreduce") && args.sparse.zipf == 1 &&
	            args.n_collectives == 1);
	args_fini(&args);
	assert_true(PARSE(&args, error, "sparse_allreduce", "--zipf=0") && args.sparse.ids == IDS_UNIFORM);
	args_fini(&args);
	assert_true(PARSE(&args, error, "sparse_allreduce", "--clustered", "--overlap", "70%") &&
	            args.sparse.ids == IDS_CLUSTERED);
	assert_float_equal(args.sparse.overlap, 0.7, 1e-9);
	args_fini(&args);
	assert_true(PARSE(&args, error, "sparse_allreduce", "--text", "a/file") && args.sparse.ids == IDS_TEXT);
	assert_string_equal(args.sparse.text, "a/file");
	args_fini(&args);
	assert_true(PARSE(&args, error, "kernel", "merge", "--pairs", "1M", "--lists", "3", "--heavy-tailed") &&
	            args.n_collectives == 2);
	assert_true(args.rows[0] == 1 << 20 && args.sparse.lists == 3 && args.sparse.heavy_tailed);
	args_fini(&args);
}

static void wrong_lines_say_what(void **state)
{
	static const struct {
		const char *words[4], *says;
	} wrong[] = {
		{ { "-b", "8" }, "name a collective" },
		{ { "allreduce", "--fresh" }, "not for device" },
		{ { "--fresh", "--tensors", "4,8", "-mhost" }, "not for --trainer" },
		{ { "allreduce", "-b", "lots" }, "--begin: 'lots'" },
		{ { "allreduce", "-b8K", "-e1K" }, "--begin is above --end" },
		{ { "allreduce", "-t", "f31" }, "no type 'f31'" },
		{ { "allreduce", "-o", "plus" }, "no operator 'plus'" },
		{ { "allreduce", "-m", "lopsided" }, "none of device, host, symmetric" },
		{ { "allreduce", "-m", "disk" }, "'disk'" },
		{ { "allreduce", "-f", "1" }, "above 1" },
		{ { "allreduce", "-n", "0" }, "'0' is no whole number from 1 on" },
		{ { "allreduce", "--frobnicate" }, "--frobnicate" },
		{ { "allreduce", "--vs", "," }, "empty" },
		{ { "--compare", "a.json" }, "two files" },
		{ { "allreduce", "--compare" }, "two files" },
		{ { "topk", "--compare=a.json", "b.json" }, "two files" },
		{ { "overlap", "--compute", "-1" }, "from 0 on" },
		{ { "--tune", "--vs", "mpi" }, "neither" },
		{ { "--tune", "-t", "f32,f16" }, "one type and one operator" },
		{ { "--tune", "-o", "sum,max" }, "one type and one operator" },
		{ { "allreduce", "--index", "i16" }, "'i16'" },
		{ { "allreduce", "--uniform", "--zipf" }, "exclude" },
		{ { "allreduce", "--range", "0" }, "at least 1" },
		{ { "allreduce", "--clustered", "--text", "x" }, "exclude" },
		{ { "allreduce", "--text", "x", "--overlap=1%" }, "of drawn indices" },
		{ { "allreduce", "--overlap", "101%" }, "at most 1" },
		{ { "allreduce", "--density", "1%,2" }, "'2' is above 1" },
		{ { "allreduce", "--rows", "4,many" }, "--rows: 'many'" },
		{ { "allreduce", "--rows", "4", "--density=1%" }, "exclude" },
		{ { "allreduce", "--lists", "0" }, "1 to 32" },
		{ { "allreduce", "--lists", "33" }, "1 to 32" },
		{ { "topk", "--result", "sparse" }, "'sparse' is none of dense, pairs, both" },
	};
	struct args args;
	char error[ARGS_ERROR_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const char *argv[] = { "choir-bench",     wrong[i].words[0], wrong[i].words[1],
			               wrong[i].words[2], wrong[i].words[3], NULL };

		assert_false(args_parse(count(argv), argv, &args, error));
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("'%s' does not say '%s'", error, wrong[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read),       cmocka_unit_test(percentiles_are_nearest_ranks),
		cmocka_unit_test(defaults_and_flags),   cmocka_unit_test(sparse_flags),
		cmocka_unit_test(wrong_lines_say_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
