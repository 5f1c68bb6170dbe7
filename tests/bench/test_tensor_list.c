/* SPDX-License-Identifier: MIT */
/* Lists of tensors, and that those of the two models are exactly the models'.  Argument: the folder with resnet50.txt
 * and bert.txt. */
#include "bench/step/tensor_list.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_F16 };

static void model(const char *folder, const char *file, int n, size_t parameters, const char *first, const char *last)
{
	struct tensor_list list;
	char path[512], error[TENSOR_ERROR_BYTES];
	size_t sum = 0;
	double ms = 0;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	if (!tensor_list_read(path, &list, error))
		fail_msg("%s", error);
	for (int i = 0; i < list.n; i++) {
		sum += list.tensors[i].count;
		ms += list.tensors[i].delay_us / 1000;
		assert_int_equal(list.tensors[i].dtype, CHOIR_F32);
	}
	assert_int_equal(list.n, n);
	assert_int_equal(sum, parameters);
	assert_true(ms > 10 && ms < 1000);
	assert_string_equal(list.tensors[0].name, first);
	assert_string_equal(list.tensors[n - 1].name, last);
	tensor_list_fini(&list);
}

static void models_are_exact(void **state)
{
	model(*state, "resnet50.txt", 161, 25557032, "fc.bias", "conv1.weight");
	model(*state, "bert.txt", 199, 109482240, "pooler.dense.bias", "embeddings.word_embeddings.weight");
}

static void sizes_are_read(void **state)
{
	struct tensor_list list;
	char error[TENSOR_ERROR_BYTES];
	size_t small = 0;

	(void)state;
	assert_true(tensor_list_parse("4,1K,6,1", dtypes, 2, &list, error));
	assert_true(list.n == 4 && list.tensors[0].count == 1 && list.tensors[1].count == 512 &&
	            list.tensors[2].count == 1);
	assert_true(list.tensors[2].dtype == CHOIR_F32 && list.tensors[3].dtype == CHOIR_F16 &&
	            list.tensors[3].count == 1);
	tensor_list_fini(&list);
	assert_true(tensor_list_parse("random:300:4:64k", dtypes, 1, &list, error) && list.n == 300);
	for (int i = 0; i < 300; i++) {
		assert_in_range(list.tensors[i].count, 1, 16384);
		small += list.tensors[i].count < 128; /* half of the way from 4 to 64 K, in powers */
	}
	assert_in_range(small, 110, 190);
	tensor_list_fini(&list);
	for (const char *const *bad =
	         (const char *const[]){ "", "x", "4,,8", "0", "random:3:4", "random:0:4:8", "random:3:8:4",
	                                "random:3:4:8:9", "random:99999:4:8", "-3", NULL };
	     *bad != NULL; bad++)
		if (tensor_list_parse(*bad, dtypes, 1, &list, error))
			fail_msg("'%s' was taken", *bad);
}

static void wrong_lines_are_named(void **state)
{
	static const char *const wrong[] = { "w 4 f32",   "w 4 f32 1 2", "w -4 f32 1",
		                             "w 4 f31 1", "w 4 f32 -1",  "w x f32 1" };
	struct tensor_list list;
	char error[TENSOR_ERROR_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		FILE *file = fopen("wrong.list", "w");

		assert_non_null(file);
		fprintf(file, "# a list\n\na 1 f16 0.5 # fine\n%s\n", wrong[i]);
		fclose(file);
		assert_false(tensor_list_read("wrong.list", &list, error));
		if (strstr(error, "wrong.list, line 4") == NULL)
			fail_msg("'%s': %s", wrong[i], error);
	}
	assert_false(tensor_list_read("no such list", &list, error));
	assert_non_null(strstr(error, "no such list"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(models_are_exact, argv[argc - 1]),
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(wrong_lines_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
