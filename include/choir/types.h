/* SPDX-License-Identifier: MIT */
/* Statuses, data types and operators.  Their numbers are fixed, for ctypes and files. */
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

/* The status that every function that can fail returns; after a failure choir_last_error() has a sentence. */
typedef enum choir_status {
#define CHOIR_STATUS(name, number, text) CHOIR_##name = number,
#include <choir/status.def>
#undef CHOIR_STATUS
} choir_status;

/* Structures that begin with struct_size: the caller sets it to sizeof of the structure.  Later versions have more
 * members at the end; members beyond struct_size have their defaults, and those of results are not written.  ARGUMENT,
 * with the size in the sentence, where it is larger than this library's structure or ends inside a member. */

/* A data type: CHOIR_F32 and so on.
 *
 * f8e4m3 and f8e5m2 are OCP's 8-bit floating-point types.  They accumulate in f32 and are rounded to nearest even when
 * stored.  e4m3 has no infinity: values beyond 448 become 448 of their sign (saturation), a NaN stays one.  e5m2 rounds
 * as f16 does: from 61440 on to infinity.  Selections by magnitude (choir/topk.h, choir/pairs.h) do not take them. */
typedef int32_t choir_dtype;
enum {
#define CHOIR_DTYPE(name, number, text, bytes, kind) CHOIR_##name = number,
#include <choir/dtype.def>
#undef CHOIR_DTYPE
};

/* Elements of f32_i32, f64_i32, i32_i32 and i64_i32: MPI's FLOAT_INT, DOUBLE_INT, 2INT and LONG_INT.  The operators of
 * pairs are minloc, maxloc and local.  The value of `unused` does not matter.  A buffer of pairs is aligned to the size
 * of a pair, 8 or 16 bytes, else the call is ARGUMENT.  These structs are; C aligns a program's own to their largest
 * member, which is half of that. */
#ifdef __cplusplus
#define CHOIR_ALIGNED(bytes) alignas(bytes)
#else
#define CHOIR_ALIGNED(bytes) _Alignas(bytes)
#endif
typedef struct choir_f32_i32 {
	CHOIR_ALIGNED(8) float value;
	int32_t index;
} choir_f32_i32;
typedef struct choir_f64_i32 {
	CHOIR_ALIGNED(16) double value;
	int32_t index, unused;
} choir_f64_i32;
typedef struct choir_i32_i32 {
	CHOIR_ALIGNED(8) int32_t value;
	int32_t index;
} choir_i32_i32;
typedef struct choir_i64_i32 {
	CHOIR_ALIGNED(16) int64_t value;
	int32_t index, unused;
} choir_i64_i32;

/* A reduction operator: CHOIR_OP_SUM and so on. */
typedef int32_t choir_op;
enum {
#define CHOIR_OP(name, number, text, about) CHOIR_OP_##name = number,
#include <choir/op.def>
#undef CHOIR_OP
};

/* choir_version: "major.minor.patch" of the library that is loaded. */
CHOIR_API const char *choir_version(void);

/* choir_status_name, choir_dtype_name, choir_op_name: a constant text; "unknown" for an unknown number.  The name of an
 * operator of the caller's (<choir/op.h>) is there until it is destroyed. */
CHOIR_API const char *choir_status_name(choir_status status);
CHOIR_API const char *choir_dtype_name(choir_dtype dtype);
CHOIR_API const char *choir_op_name(choir_op op);

/* choir_dtype_bytes: the size of one element; 0 for an unknown number. */
CHOIR_API size_t choir_dtype_bytes(choir_dtype dtype);

/* choir_dtype_parse, choir_op_parse: the number of a name ("f32", "sum"), in any case; also names of NumPy, C, MPI
 * (MPI_FLOAT, MPI.FLOAT) and NCCL (ncclFloat32) for data types, of GCL, MPI and NCCL for operators.  ARGUMENT for an
 * unknown name; *out is then unchanged. */
CHOIR_API choir_status choir_dtype_parse(const char *text, choir_dtype *out);
CHOIR_API choir_status choir_op_parse(const char *text, choir_op *out);

/* choir_last_error: the sentence of this thread's last failed call, which names the rank, the call and the value.
 * Never NULL; valid until this thread's next failing call. */
CHOIR_API const char *choir_last_error(void);

/* choir_set_log: fn(ctx, level, text) gets the lines of the log, from any thread; level is 0 error, 1 warning, 2 info,
 * 3 debug.  fn must not call choir.  fn NULL: lines up to the level of CHOIR_LOG=error|warn|info|debug[:FILE] go to
 * FILE or standard error; none without CHOIR_LOG.  Lines of every call, which cost time, are made with CHOIR_LOG=debug
 * alone, whoever gets them. */
typedef void (*choir_log_fn)(void *ctx, int level, const char *text);
CHOIR_API void choir_set_log(choir_log_fn fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
