/* SPDX-License-Identifier: MIT */
#include "base/ascii.h"
#include "base/user_op.h"

#include <stdbool.h>
#include <stdio.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

static const char *const status_texts[] = {
#define CHOIR_STATUS(name, number, text) [number] = #name,
#include <choir/status.def>
#undef CHOIR_STATUS
};

static const struct {
	const char *text;
	size_t bytes;
} dtypes[] = {
#define CHOIR_DTYPE(name, number, text, bytes, kind) [number] = { text, bytes },
#include <choir/dtype.def>
#undef CHOIR_DTYPE
};

static const char *const op_texts[] = {
#define CHOIR_OP(name, number, text, about) [number] = text,
#include <choir/op.def>
#undef CHOIR_OP
};

/* Other spellings of operators: GCL's, and MPI's and NCCL's without what stands before them. */
static const struct {
	const char *text;
	choir_op op;
} op_spellings[] = {
	{ "add", CHOIR_OP_SUM },
	{ "mul", CHOIR_OP_PROD },
	{ "avg", CHOIR_OP_MEAN },
	{ "square-add", CHOIR_OP_SQUARE_ADD },
	{ "squareadd", CHOIR_OP_SQUARE_ADD },
	{ "land", CHOIR_OP_LOGICAL_AND },
	{ "lor", CHOIR_OP_LOGICAL_OR },
	{ "lxor", CHOIR_OP_LOGICAL_XOR },
};

/* Other spellings of data types: NumPy's, C's on Linux, and MPI's and NCCL's without what stands before them, but
 * where the bare word means another type elsewhere. */
static const struct {
	const char *text;
	choir_dtype dtype;
} dtype_spellings[] = {
	{ "int8", CHOIR_I8 },
	{ "uint8", CHOIR_U8 },
	{ "int16", CHOIR_I16 },
	{ "uint16", CHOIR_U16 },
	{ "int32", CHOIR_I32 },
	{ "uint32", CHOIR_U32 },
	{ "int64", CHOIR_I64 },
	{ "uint64", CHOIR_U64 },
	{ "int8_t", CHOIR_I8 },
	{ "uint8_t", CHOIR_U8 },
	{ "int16_t", CHOIR_I16 },
	{ "uint16_t", CHOIR_U16 },
	{ "int32_t", CHOIR_I32 },
	{ "uint32_t", CHOIR_U32 },
	{ "int64_t", CHOIR_I64 },
	{ "uint64_t", CHOIR_U64 },
	{ "signed_char", CHOIR_I8 },
	{ "unsigned_char", CHOIR_U8 },
	{ "short", CHOIR_I16 },
	{ "unsigned_short", CHOIR_U16 },
	{ "int", CHOIR_I32 },
	{ "unsigned", CHOIR_U32 },
	{ "long", CHOIR_I64 },
	{ "unsigned_long", CHOIR_U64 },
	{ "long_long", CHOIR_I64 },
	{ "long_long_int", CHOIR_I64 },
	{ "unsigned_long_long", CHOIR_U64 },
	{ "mpi_char", CHOIR_I8 },
	{ "mpi.char", CHOIR_I8 },
	{ "ncclchar", CHOIR_I8 },
	{ "mpi_byte", CHOIR_U8 },
	{ "mpi.byte", CHOIR_U8 },
	{ "half", CHOIR_F16 },
	{ "float16", CHOIR_F16 },
	{ "bfloat16", CHOIR_BF16 },
	{ "float32", CHOIR_F32 },
	{ "float", CHOIR_F32 },
	{ "float64", CHOIR_F64 },
	{ "double", CHOIR_F64 },
	{ "bool_", CHOIR_BOOL },
	{ "c_bool", CHOIR_BOOL },
	{ "float8_e4m3fn", CHOIR_F8E4M3 },
	{ "float8e4m3", CHOIR_F8E4M3 },
	{ "fp8_e4m3", CHOIR_F8E4M3 },
	{ "e4m3", CHOIR_F8E4M3 },
	{ "float8_e5m2", CHOIR_F8E5M2 },
	{ "float8e5m2", CHOIR_F8E5M2 },
	{ "fp8_e5m2", CHOIR_F8E5M2 },
	{ "e5m2", CHOIR_F8E5M2 },
	{ "float_int", CHOIR_F32_I32 },
	{ "double_int", CHOIR_F64_I32 },
	{ "2int", CHOIR_I32_I32 },
	{ "long_int", CHOIR_I64_I32 },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The name without MPI_, MPI. (mpi4py's) or nccl before it. */
static const char *bare(const char *text)
{
	static const char *const prefixes[] = { "mpi_", "mpi.", "nccl" };

	for (size_t i = 0; i < COUNT(prefixes); i++)
		if (ascii_begins(text, prefixes[i]))
			return text + 4;
	return text;
}

static bool is_called(const char *text, const char *name)
{
	return ascii_equal(text, name) || ascii_equal(bare(text), name);
}

const char *choir_version(void)
{
	return TEXT(CHOIR_VERSION_MAJOR) "." TEXT(CHOIR_VERSION_MINOR) "." TEXT(CHOIR_VERSION_PATCH);
}

const char *choir_status_name(choir_status status)
{
	return (size_t)status < COUNT(status_texts) ? status_texts[status] : "unknown";
}

const char *choir_dtype_name(choir_dtype dtype)
{
	return (size_t)dtype < COUNT(dtypes) ? dtypes[dtype].text : "unknown";
}

size_t choir_dtype_bytes(choir_dtype dtype)
{
	return (size_t)dtype < COUNT(dtypes) ? dtypes[dtype].bytes : 0;
}

const char *choir_op_name(choir_op op)
{
	const struct user_op *user = user_op_held(op);

	if (user != NULL)
		return user->name;
	return (size_t)op < COUNT(op_texts) ? op_texts[op] : "unknown";
}

choir_status choir_dtype_parse(const char *text, choir_dtype *out)
{
	if (text == NULL || out == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_dtype_parse: null argument");
	for (size_t i = 0; i < COUNT(dtypes); i++)
		if (is_called(text, dtypes[i].text)) {
			*out = (choir_dtype)i;
			return CHOIR_SUCCESS;
		}
	for (size_t i = 0; i < COUNT(dtype_spellings); i++)
		if (is_called(text, dtype_spellings[i].text)) {
			*out = dtype_spellings[i].dtype;
			return CHOIR_SUCCESS;
		}
	return error_set(CHOIR_ARGUMENT, "no data type is called '%s'", text);
}

choir_status choir_op_parse(const char *text, choir_op *out)
{
	if (text == NULL || out == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_op_parse: null argument");
	for (size_t i = 0; i < COUNT(op_texts); i++)
		if (is_called(text, op_texts[i])) {
			*out = (choir_op)i;
			return CHOIR_SUCCESS;
		}
	for (size_t i = 0; i < COUNT(op_spellings); i++)
		if (is_called(text, op_spellings[i].text)) {
			*out = op_spellings[i].op;
			return CHOIR_SUCCESS;
		}
	return error_set(CHOIR_ARGUMENT, "no operator is called '%s'", text);
}
