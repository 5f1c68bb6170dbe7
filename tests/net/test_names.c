/* SPDX-License-Identifier: MIT */
/* Names of data types and operators, in every usual spelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <choir/types.h>
#include <string.h>

static void test_dtypes(void **state)
{
	static const struct {
		const char *text;
		choir_dtype dtype;
	} rows[] = {
		{ "f32", CHOIR_F32 },
		{ "F32", CHOIR_F32 },
		{ "float32", CHOIR_F32 },
		{ "float", CHOIR_F32 },
		{ "MPI_FLOAT", CHOIR_F32 },
		{ "float64", CHOIR_F64 },
		{ "MPI_DOUBLE", CHOIR_F64 },
		{ "float16", CHOIR_F16 },
		{ "half", CHOIR_F16 },
		{ "bfloat16", CHOIR_BF16 },
		{ "int8", CHOIR_I8 },
		{ "uint8", CHOIR_U8 },
		{ "int16", CHOIR_I16 },
		{ "uint16_t", CHOIR_U16 },
		{ "int32", CHOIR_I32 },
		{ "MPI_INT", CHOIR_I32 },
		{ "uint32", CHOIR_U32 },
		{ "MPI_INT64_T", CHOIR_I64 },
		{ "uint64", CHOIR_U64 },
		{ "MPI_C_BOOL", CHOIR_BOOL },
		{ "bool", CHOIR_BOOL },
		{ "Int64", CHOIR_I64 },
		{ "float8_e4m3fn", CHOIR_F8E4M3 },
		{ "e5m2", CHOIR_F8E5M2 },
		{ "MPI_FLOAT_INT", CHOIR_F32_I32 },
		{ "MPI_2INT", CHOIR_I32_I32 },
		{ "MPI_LONG_INT", CHOIR_I64_I32 },
		{ "double_int", CHOIR_F64_I32 },
	};
	choir_dtype dtype = CHOIR_I8;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (choir_dtype_parse(rows[i].text, &dtype) != CHOIR_SUCCESS || dtype != rows[i].dtype)
			fail_msg("%s: %s", rows[i].text, choir_last_error());
	}
	assert_int_equal(choir_dtype_parse("int128", &dtype), CHOIR_ARGUMENT);
	assert_int_equal(choir_dtype_parse("MPI_", &dtype), CHOIR_ARGUMENT);
	for (int i = 0; choir_dtype_bytes((choir_dtype)i) != 0; i++) {
		assert_int_equal(choir_dtype_parse(choir_dtype_name((choir_dtype)i), &dtype), CHOIR_SUCCESS);
		assert_int_equal(dtype, i);
	}
}

static void test_ops(void **state)
{
	static const struct {
		const char *text;
		choir_op op;
	} rows[] = {
		{ "lxor", CHOIR_OP_LOGICAL_XOR },
		{ "land", CHOIR_OP_LOGICAL_AND },
		{ "MINLOC", CHOIR_OP_MINLOC },
		{ "maxloc", CHOIR_OP_MAXLOC },
		{ "avg", CHOIR_OP_MEAN },
		{ "sum", CHOIR_OP_SUM },
		{ "add", CHOIR_OP_SUM },
		{ "mul", CHOIR_OP_PROD },
		{ "lor", CHOIR_OP_LOGICAL_OR },
		{ "ADD", CHOIR_OP_SUM },
		{ "MEAN", CHOIR_OP_MEAN },
		{ "MUL", CHOIR_OP_PROD },
		{ "MIN", CHOIR_OP_MIN },
		{ "MAX", CHOIR_OP_MAX },
		{ "LOCAL", CHOIR_OP_LOCAL },
		{ "SQUARE_ADD", CHOIR_OP_SQUARE_ADD },
		{ "LOGICAL_AND", CHOIR_OP_LOGICAL_AND },
		{ "LOGICAL_OR", CHOIR_OP_LOGICAL_OR },
	};
	choir_op op = -1;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (choir_op_parse(rows[i].text, &op) != CHOIR_SUCCESS || op != rows[i].op)
			fail_msg("%s: %s", rows[i].text, choir_last_error());
	assert_int_equal(choir_op_parse("nor", &op), CHOIR_ARGUMENT);
	assert_string_equal(choir_op_name(CHOIR_OP_PROD), "prod");
	for (int i = 0; strcmp(choir_op_name(i), "unknown") != 0; i++) {
		assert_int_equal(choir_op_parse(choir_op_name(i), &op), CHOIR_SUCCESS);
		assert_int_equal(op, i);
	}
	assert_int_equal(op, CHOIR_OP_MAXLOC); /* the last one */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dtypes), cmocka_unit_test(test_ops) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
