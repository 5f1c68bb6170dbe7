/* SPDX-License-Identifier: MIT */
/* Statuses, data types and operators: fixed numbers, so that they pass through ctypes and files unchanged. */
#ifndef CHOIR_TYPES_H
#define CHOIR_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHOIR_API __attribute__((visibility("default")))

#define CHOIR_VERSION_MAJOR 0
#define CHOIR_VERSION_MINOR 1
#define CHOIR_VERSION_PATCH 0

/* Every function that can fail returns one of these; choir_last_error() then holds a sentence. */
typedef enum choir_status {
#define STATUS(name, number, text) CHOIR_##name = number,
#include <choir/status.def>
#undef STATUS
} choir_status;

/* A data type: CHOIR_F32 and so on. */
typedef int32_t choir_dtype;
enum {
#define DTYPE(name, number, text, bytes) CHOIR_##name = number,
#include <choir/dtype.def>
#undef DTYPE
};

/* A reduction operator: CHOIR_OP_SUM and so on. */
typedef int32_t choir_op;
enum {
#define OP(name, number, text, about) CHOIR_OP_##name = number,
#include <choir/op.def>
#undef OP
};

/* choir_version: "major.minor.patch" of the library that runs. */
CHOIR_API const char *choir_version(void);

/* choir_status_name, choir_dtype_name, choir_op_name: a constant text; "unknown" for a number that is none. */
CHOIR_API const char *choir_status_name(choir_status status);
CHOIR_API const char *choir_dtype_name(choir_dtype dtype);
CHOIR_API const char *choir_op_name(choir_op op);

/* choir_dtype_bytes: size of one element; 0 for a number that is no dtype. */
CHOIR_API size_t choir_dtype_bytes(choir_dtype dtype);

/* choir_dtype_parse, choir_op_parse: the number of a name ("f32", "sum"; case does not matter; also NumPy's, C's and
 * MPI's names of data types, GCL's of operators).  ARGUMENT if there is none; *out is then unchanged. */
CHOIR_API choir_status choir_dtype_parse(const char *text, choir_dtype *out);
CHOIR_API choir_status choir_op_parse(const char *text, choir_op *out);

/* choir_last_error: the sentence of this thread's last failed call: who, which call, which value.  Never NULL; valid
 * until this thread's next failing call. */
CHOIR_API const char *choir_last_error(void);

/* choir_set_log: lines go to fn(ctx, level, text), level 0 error, 1 warning, 2 info, 3 debug; from any thread; fn must
 * not call choir.
 * NULL: silence, or what CHOIR_LOG=error|warn|info|debug[:FILE] asks for (README), up to that level, to FILE or
 * standard error. */
typedef void (*choir_log_fn)(void *ctx, int level, const char *text);
CHOIR_API void choir_set_log(choir_log_fn fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
