/* SPDX-License-Identifier: MIT */
/* The check data is only as good as this: what the bench expects must be what the library's own host loops compute, in
 * any order. */
#include "base/dtype.h"
#include "bench/data/check.h"
#include "kern/reduce.h"
#include "bench/sparse/merge.h"
#include "bench/sparse/sparse_data.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 777, MOST_RANKS = 16 };

static void reduce_in_order(const struct values *v, const int *order, void *out)
{
	struct reduce_call call = { .dtype = v->dtype,
		                    .op = v->op,
		                    .factor = values_factor(v->op),
		                    .n_src = (uint32_t)v->n_ranks,
		                    .final = true,
		                    .n_ranks = v->n_ranks,
		                    .n_dst = 1,
		                    .nt_from = 1,
		                    .count = COUNT };
	static unsigned char inputs[MOST_RANKS][COUNT * VALUES_MOST_BYTES];
	const void *sources[MOST_RANKS];
	int32_t numbers[COUNT];

	for (int r = 0; r < v->n_ranks; r++) {
		values_of(v, order[r], 5, COUNT, numbers);
		values_encode(v->dtype, numbers, COUNT, inputs[r]);
		sources[r] = inputs[r];
	}
	reduce_host(&call, &out, sources);
}

static void expectation_is_the_host_twins(void **state)
{
	unsigned char got[COUNT * VALUES_MOST_BYTES], expected[COUNT * VALUES_MOST_BYTES];
	int32_t numbers[COUNT];
	int pairs = 0;

	(void)state;
	for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) != 0; dtype++)
		for (choir_op op = 0; op < N_OPS; op++)
			for (int n = 1; n <= MOST_RANKS; n = n * 2 + (n == 2)) {
				struct values v = { .dtype = dtype, .op = op, .seed = 1, .n_ranks = n };
				int forward[MOST_RANKS], backward[MOST_RANKS];

				if (reduce_supported(dtype, op) != CHOIR_SUCCESS)
					continue;
				for (int r = 0; r < n; r++)
					backward[n - 1 - r] = forward[r] = r;
				values_reduced(&v, v.n_ranks, 0, 5, COUNT, numbers);
				values_encode(dtype, numbers, COUNT, expected);
				reduce_in_order(&v, forward, got);
				if (memcmp(got, expected, COUNT * choir_dtype_bytes(dtype)) != 0)
					fail_msg("%s %s of %d ranks", choir_dtype_name(dtype), choir_op_name(op), n);
				pairs++;
				if (op == CHOIR_OP_LOCAL)
					continue;
				reduce_in_order(&v, backward, got);
				if (memcmp(got, expected, COUNT * choir_dtype_bytes(dtype)) != 0)
					fail_msg("%s %s of %d ranks, backwards", choir_dtype_name(dtype),
					         choir_op_name(op), n);
			}
	assert_true(pairs > 300);
}

static void numbers_are_encoded(void **state)
{
	const int32_t numbers[] = { 0, 1, -2, 100 };
	const uint16_t f16[] = { 0, 0x3c00, 0xc000, 0x5640 }, bf16[] = { 0, 0x3f80, 0xc000, 0x42c8 };
	const int8_t i8[] = { 0, 1, -2, 100 };
	const uint8_t e4m3[] = { 0, 0x38, 0xc0, 0x50 }, e5m2[] = { 0, 0x3c, 0xc0, 0x48 };
	const int32_t small[] = { 0, 1, -2, 8 };
	unsigned char got[8];

	(void)state;
	values_encode(CHOIR_F16, numbers, 4, got);
	assert_memory_equal(got, f16, 8);
	values_encode(CHOIR_BF16, numbers, 4, got);
	assert_memory_equal(got, bf16, 8);
	values_encode(CHOIR_F8E4M3, small, 4, got);
	assert_memory_equal(got, e4m3, 4);
	values_encode(CHOIR_F8E5M2, small, 4, got);
	assert_memory_equal(got, e5m2, 4);
	values_encode(CHOIR_I8, numbers, 4, got);
	assert_memory_equal(got, i8, 4);
}

/* Rules compare all bytes of uneven blocks, whatever the count of one rank; of alltoallv the mean block's. */
static void rules_compare_the_same_on_all_ranks(void **state)
{
	static const struct {
		struct collective_row what;
		size_t bytes;
	} cases[] = {
		{ { .kind = SPREAD_GATHER }, 1000 },
		{ { .kind = SPREAD_GATHER, .uneven = true }, 4000 },
		{ { .kind = SPREAD_SCATTER, .uneven = true }, 4000 },
		{ { .kind = SPREAD_EXCHANGE, .uneven = true }, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int rank = 0; rank < 4; rank++) {
			struct job job = { .what = &cases[i].what, .n = 4, .rank = rank, .elem_bytes = 4 };

			job_size(&job, 4000);
			assert_int_equal(job_rule_bytes(&job), cases[i].bytes);
		}
}

static void every_wrong_element_is_counted(void **state)
{
	struct args args = { .memory = MEMORY_HOST, .offset = 3 };
	struct collective_row what = { .name = "to the next rank, from the one before" };
	struct job job = { .args = &args,
		           .what = &what,
		           .memory = { .kind = MEMORY_HOST },
		           .n = 2,
		           .dtype = CHOIR_F32,
		           .op = CHOIR_OP_LOCAL,
		           .elem_bytes = 4 };
	struct check_buffers buffers;
	uint64_t wrong;
	float *out;

	(void)state;
	job_size(&job, 8000);
	assert_true(check_init(&buffers, &job) && check_fill(&buffers, &job) && check_count(&buffers, &job, &wrong));
	assert_int_equal(wrong, 2000);
	/* Rank 1's own input is what is expected. */
	out = (float *)buffers.recv.host + args.offset;
	job.rank = 1;
	check_input(&job, out);
	job.rank = 0;
	assert_true(check_count(&buffers, &job, &wrong) && wrong == 0);
	out[7] += 1;
	out[1999] += 1;
	assert_true(check_count(&buffers, &job, &wrong) && wrong == 2);
	out[-1] = 0;
	out[2000] = 0;
	assert_true(check_count(&buffers, &job, &wrong) && wrong == 4);
	((float *)buffers.send.host)[args.offset + 5] += 1;
	assert_true(check_count(&buffers, &job, &wrong) && wrong == 5);
	check_fini(&buffers);
}

static void merge_one(struct args_sparse args, choir_dtype dtype, size_t room_range)
{
	struct sparse_shape shape = { .args = args, .dtype = dtype, .op = CHOIR_OP_SUM, .n_ranks = 3 };
	struct sparse_rows mine, expected;
	struct merge merge = { .index_dtype = args.index_dtype, .dtype = dtype, .width = args.width };
	size_t ind_bytes = choir_dtype_bytes(args.index_dtype), row_bytes = args.width * choir_dtype_bytes(dtype),
	       n = 3 * args.rows;
	char *ind = malloc(n * ind_bytes), *val = malloc(n * row_bytes), *out_ind = malloc(n * ind_bytes),
	     *out_val = malloc(n * row_bytes);

	for (int r = 0; r < 3; r++) {
		assert_true(sparse_data_make(&shape, r, &mine));
		memcpy(ind + (size_t)r * args.rows * ind_bytes, mine.ind, args.rows * ind_bytes);
		memcpy(val + (size_t)r * args.rows * row_bytes, mine.val, args.rows * row_bytes);
		sparse_data_fini(&mine);
	}
	assert_true(sparse_data_expect(&shape, &expected));
	assert_true(merge_init(&merge, n, room_range));
	assert_int_equal(merge_sum(&merge, ind, val, n, out_ind, out_val), expected.rows);
	assert_memory_equal(out_ind, expected.ind, expected.rows * ind_bytes);
	assert_memory_equal(out_val, expected.val, expected.rows * row_bytes);
	merge_fini(&merge);
	sparse_data_fini(&expected);
	free(ind);
	free(val);
	free(out_ind);
	free(out_val);
}

static void both_merges_agree_with_the_expectation(void **state)
{
	struct args_sparse args = { .rows = 1000, .width = 3, .range = 5000, .zipf = 1, .index_dtype = CHOIR_I32 };

	(void)state;
	for (int zipf = 0; zipf < 3; zipf++)
		for (int wide = 0; wide < 2; wide++) {
			args.ids = zipf == 0 ? IDS_UNIFORM : IDS_ZIPF;
			args.zipf = zipf * 0.75;
			args.index_dtype = wide ? CHOIR_I64 : CHOIR_I32;
			merge_one(args, wide ? CHOIR_F64 : CHOIR_F32, args.range);
			/* A range as thin as this one takes the sort. */
			merge_one(args, wide ? CHOIR_F32 : CHOIR_F64, (size_t)1 << 40);
		}
}

static void sparse_rows_are_in_range(void **state)
{
	struct sparse_shape shape = {
		.args = { .rows = 5000, .width = 1, .range = 100, .zipf = 1, .index_dtype = CHOIR_I32 },
		.dtype = CHOIR_F16,
		.op = CHOIR_OP_SUM,
		.n_ranks = 2
	};
	struct sparse_rows rows;
	int hottest = 0;

	(void)state;
	assert_true(sparse_data_make(&shape, 1, &rows));
	for (size_t i = 0; i < rows.rows; i++) {
		int32_t index = ((int32_t *)rows.ind)[i];

		assert_in_range(index, 0, 99);
		hottest += index == 0;
	}
	assert_true(hottest > 400); /* log 2 / log 101 of 5000 = 750 */
	sparse_data_fini(&rows);
	assert_true(sparse_data_expect(&shape, &rows));
	for (size_t i = 1; i < rows.rows; i++)
		assert_true(((int32_t *)rows.ind)[i] > ((int32_t *)rows.ind)[i - 1]);
	sparse_data_fini(&rows);
}

static double of_bf16(const void *values, size_t i)
{
	uint32_t bits = (uint32_t)((const uint16_t *)values)[i] << 16;
	float value;

	memcpy(&value, &bits, sizeof value);
	return (double)value;
}

/* Of frequent indices, whose sums are the largest. */
static void sparse_sums_of_many_ranks_are_exact(void **state)
{
	struct sparse_shape shape = {
		.args = { .rows = 500, .width = 1, .range = 20, .zipf = 1, .index_dtype = CHOIR_I32 },
		.dtype = CHOIR_BF16,
		.op = CHOIR_OP_SUM,
		.n_ranks = 64
	};
	double sums[20] = { 0 };
	struct sparse_rows rows;

	(void)state;
	for (int r = 0; r < shape.n_ranks; r++) {
		assert_true(sparse_data_make(&shape, r, &rows));
		for (size_t i = 0; i < rows.rows; i++)
			sums[((int32_t *)rows.ind)[i]] += of_bf16(rows.val, i);
		sparse_data_fini(&rows);
	}
	assert_true(sparse_data_expect(&shape, &rows));
	assert_int_equal(rows.rows, 20);
	for (size_t i = 0; i < rows.rows; i++)
		assert_true(of_bf16(rows.val, i) == sums[i]);
	sparse_data_fini(&rows);
}

/* --hot and --empty change who sends how much, and nothing else. */
static void skewed_rows_are_the_same_rows(void **state)
{
	struct args_sparse args = { .rows = 1001, .width = 1, .range = 5000, .zipf = 1, .index_dtype = CHOIR_I32 };

	(void)state;
	for (int n = 1; n <= 5; n++)
		for (int skew = 0; skew < 4; skew++) {
			size_t at = 0;

			args.hot = skew & 1;
			args.empty = skew & 2;
			for (int r = 0; r < n; r++) {
				size_t rows = sparse_ids_rows(&args, r, n), before = sparse_ids_before(&args, r, n);

				assert_int_equal(before, at);
				for (size_t i = 0; i < rows; i++, at++)
					assert_int_equal(sparse_ids_at(&args, NULL, before, i),
					                 sparse_ids_at(&args, NULL, 0, at));
				if (args.empty && n > 1 && r == n - 1)
					assert_int_equal(rows, 0);
			}
			assert_int_equal(at, 1001 * (size_t)n);
			if (args.hot && n > 2)
				assert_in_range(sparse_ids_rows(&args, 0, n), 10 * sparse_ids_rows(&args, 1, n) - 10,
				                10 * sparse_ids_rows(&args, 1, n) + 10);
		}
}

static void workloads_are_what_they_are_called(void **state)
{
	struct args_sparse plain = { .rows = 1000, .width = 1, .range = 9973, .ids = IDS_UNIFORM, .zipf = 1 },
			   args = plain;
	size_t same = 0, apart = 0, first = 0;

	(void)state;
	args.overlap = 0.7;
	for (size_t i = 0; i < 1000; i++)
		same += sparse_ids_at(&args, NULL, 0, i) == sparse_ids_at(&args, NULL, 1000, i);
	assert_in_range(same, 650, 750);
	args = plain;
	args.ids = IDS_CLUSTERED;
	for (size_t i = 1; i < 1000; i++)
		apart += sparse_ids_at(&args, NULL, 0, i) != sparse_ids_at(&args, NULL, 0, i - 1) + 1;
	assert_in_range(apart, 10, 20);
	args = plain;
	args.ids = IDS_ZIPF;
	args.permuted = true;
	for (size_t i = 0; i < 1000; i++)
		first += sparse_ids_at(&args, NULL, 0, i) < 9973 / 8;
	assert_in_range(first, 0, 400); /* log 1247 / log 9974 of them, unpermuted: 774 */
}

static void lists_fold_to_the_expectation(void **state)
{
	struct sparse_shape shape = {
		.args = { .rows = 900, .width = 2, .range = 400, .zipf = 1, .index_dtype = CHOIR_I32, .hot = true },
		.dtype = CHOIR_F32,
		.op = CHOIR_OP_MEAN,
		.n_ranks = 3
	};
	struct sparse_rows expected, list;
	float sum[400][2] = { { 0 } };

	(void)state;
	for (int r = 0; r < 3; r++) {
		assert_true(sparse_data_list(&shape, r, &list));
		for (size_t i = 0; i < list.rows; i++)
			for (int c = 0; c < 2; c++)
				sum[((int32_t *)list.ind)[i]][c] += ((float *)list.val)[2 * i + (size_t)c];
		sparse_data_fini(&list);
	}
	assert_true(sparse_data_expect(&shape, &expected));
	for (size_t i = 0; i < expected.rows; i++)
		for (int c = 0; c < 2; c++)
			assert_true(sum[((int32_t *)expected.ind)[i]][c] / 3 ==
			            ((float *)expected.val)[2 * i + (size_t)c]);
	sparse_data_fini(&expected);
}

static void words_are_numbered_by_frequency(void **state)
{
	const uint32_t words[] = { 1, 0, 2, 0, 1, 0 };
	struct sparse_text text;
	FILE *file = fopen("words.txt", "w");

	(void)state;
	assert_non_null(file);
	fputs("Ant bee; \ncat-BEE  ant 12 bee", file);
	fclose(file);
	assert_true(sparse_text_read("words.txt", &text));
	assert_int_equal(text.n, 6);
	assert_int_equal(text.distinct, 3);
	assert_memory_equal(text.word, words, sizeof words);
	sparse_text_fini(&text);
	remove("words.txt");
	assert_false(sparse_text_read("words.txt", &text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expectation_is_the_host_twins),
		cmocka_unit_test(numbers_are_encoded),
		cmocka_unit_test(rules_compare_the_same_on_all_ranks),
		cmocka_unit_test(every_wrong_element_is_counted),
		cmocka_unit_test(both_merges_agree_with_the_expectation),
		cmocka_unit_test(sparse_rows_are_in_range),
		cmocka_unit_test(sparse_sums_of_many_ranks_are_exact),
		cmocka_unit_test(skewed_rows_are_the_same_rows),
		cmocka_unit_test(workloads_are_what_they_are_called),
		cmocka_unit_test(lists_fold_to_the_expectation),
		cmocka_unit_test(words_are_numbered_by_frequency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
