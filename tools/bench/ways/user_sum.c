/* SPDX-License-Identifier: MIT */
#include "user_sum.h"

#include <choir/op.h>
#include <string.h>

#define ADD(type)                                                                                                      \
	do {                                                                                                           \
		type *restrict to = acc;                                                                               \
		const type *restrict from = src;                                                                       \
		for (size_t i = 0; i < count; i++)                                                                     \
			to[i] = (type)(to[i] + from[i]);                                                               \
	} while (0)

static inline __attribute__((always_inline)) void add_any(void *acc, const void *src, size_t count, choir_dtype dtype)
{
	switch (dtype) {
	case CHOIR_I8:
	case CHOIR_U8:
		ADD(uint8_t);
		break;
	case CHOIR_I16:
	case CHOIR_U16:
		ADD(uint16_t);
		break;
	case CHOIR_I32:
	case CHOIR_U32:
		ADD(uint32_t);
		break;
	case CHOIR_I64:
	case CHOIR_U64:
		ADD(uint64_t);
		break;
	case CHOIR_F32:
		ADD(float);
		break;
	case CHOIR_F64:
		ADD(double);
		break;
	default:
		break;
	}
}

static void add(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	add_any(acc, src, count, dtype);
}

#ifdef __x86_64__
/* What a caller's build for its own machine makes of it. */
__attribute__((target("avx2"))) static void add_avx2(void *ctx, void *acc, const void *src, size_t count,
                                                     choir_dtype dtype)
{
	(void)ctx;
	add_any(acc, src, count, dtype);
}
#endif

static choir_op_fold_fn widest(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return add_avx2;
#endif
	return add;
}

bool user_sum_create(struct args *args)
{
	for (int i = 0; i < args->n_ops; i++) {
		bool text = args->ops[i] == ARGS_USER_SUM_TEXT;
		choir_op_config config = CHOIR_OP_CONFIG_INIT;

		if (args->ops[i] >= 0)
			continue;
		config.name = text ? "user_sum_text" : "user_sum";
		config.fold = text ? NULL : widest();
		config.fold_text = text ? "a + b" : NULL;
		config.dtypes = (UINT64_C(1) << (CHOIR_F64 + 1)) - 1; /* bool's sum is or */
		if (choir_op_create(&config, &args->ops[i]) != CHOIR_SUCCESS)
			return false;
	}
	return true;
}

void user_sum_destroy(const struct args *args)
{
	for (int i = 0; i < args->n_ops; i++)
		if (strncmp(choir_op_name(args->ops[i]), "user_sum", strlen("user_sum")) == 0)
			choir_op_destroy(args->ops[i]);
}
