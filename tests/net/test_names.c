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
		{ "MPI.FLOAT", CHOIR_F32 },
		{ "MPI.DOUBLE_INT", CHOIR_F64_I32 },
		{ "MPI.BOOL", CHOIR_BOOL },
		{ "MPI_SIGNED_CHAR", CHOIR_I8 },
		{ "MPI_CHAR", CHOIR_I8 },
		{ "MPI.CHAR", CHOIR_I8 },
		{ "MPI_BYTE", CHOIR_U8 },
		{ "MPI.BYTE", CHOIR_U8 },
		{ "MPI_UNSIGNED_CHAR", CHOIR_U8 },
		{ "MPI_SHORT", CHOIR_I16 },
		{ "MPI_UNSIGNED_SHORT", CHOIR_U16 },
		{ "MPI_UNSIGNED", CHOIR_U32 },
		{ "MPI_LONG", CHOIR_I64 },
		{ "MPI_UNSIGNED_LONG", CHOIR_U64 },
		{ "MPI_LONG_LONG", CHOIR_I64 },
		{ "MPI_LONG_LONG_INT", CHOIR_I64 },
		{ "MPI_UNSIGNED_LONG_LONG", CHOIR_U64 },
		{ "ncclChar", CHOIR_I8 },
		{ "ncclInt8", CHOIR_I8 },
		{ "ncclUint8", CHOIR_U8 },
		{ "ncclInt32", CHOIR_I32 },
		{ "ncclInt", CHOIR_I32 },
		{ "ncclUint32", CHOIR_U32 },
		{ "ncclInt64", CHOIR_I64 },
		{ "ncclUint64", CHOIR_U64 },
		{ "ncclFloat16", CHOIR_F16 },
		{ "ncclHalf", CHOIR_F16 },
		{ "ncclFloat32", CHOIR_F32 },
		{ "ncclFloat", CHOIR_F32 },
		{ "ncclFloat64", CHOIR_F64 },
		{ "ncclDouble", CHOIR_F64 },
		{ "ncclBfloat16", CHOIR_BF16 },
		{ "ncclFloat8e4m3", CHOIR_F8E4M3 },
		{ "ncclFloat8e5m2", CHOIR_F8E5M2 },
	};
	/* a bare byte is NumPy's i8 and MPI's u8; C's char has a sign or none */
	static const char *const unknown[] = { "int128", "MPI_", "nccl",           "MPI.MPI.INT",
		                               "byte",   "char", "MPI_LONG_DOUBLE" };
	choir_dtype dtype = CHOIR_I8;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (choir_dtype_parse(rows[i].text, &dtype) != CHOIR_SUCCESS || dtype != rows[i].dtype)
			fail_msg("%s: %s", rows[i].text, choir_last_error());
	}
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		assert_int_equal(choir_dtype_parse(unknown[i], &dtype), CHOIR_ARGUMENT);
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
		{ "MPI_SUM", CHOIR_OP_SUM },
		{ "MPI.SUM", CHOIR_OP_SUM },
		{ "MPI_LAND", CHOIR_OP_LOGICAL_AND },
		{ "MPI.BXOR", CHOIR_OP_BXOR },
		{ "MPI_MINLOC", CHOIR_OP_MINLOC },
		{ "ncclSum", CHOIR_OP_SUM },
		{ "ncclProd", CHOIR_OP_PROD },
		{ "ncclMax", CHOIR_OP_MAX },
		{ "ncclMin", CHOIR_OP_MIN },
		{ "ncclAvg", CHOIR_OP_MEAN },
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
