/* SPDX-License-Identifier: MIT */
/* Note [marked blocks]: the block, its copy and its candidates are those of the plain loops, bit for bit; and the law
 * holds for tensors that are long enough. */
#include "sparse/select.h"
#include "topk/law.h"
#include "topk/mark.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 2048, FIRST = 4096, LONG = 600077 };

struct tensors {
	_Alignas(64) float residual[N], grad[N + 1], plain[N], acc[N];
	int32_t gone[N], plain_ind[N], ind[N + 1];
	float plain_val[N], val[N];
	uint64_t n_gone, bits[N / 64];
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 29;
}

/* Numbers of all magnitudes, zeros of both signs, infinities, a NaN. */
static float draw(uint64_t *seed)
{
	static const float specials[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-140f };
	uint32_t bits = (uint32_t)next(seed);
	float x;

	memcpy(&x, &bits, 4);
	if (bits % 16 < 6 || isnan(x))
		return specials[bits % 16 % 6];
	return bits % 2 == 0 ? x : (float)(bits % 64) - 32;
}

static void fill(struct tensors *t, uint64_t seed, unsigned gone_part)
{
	t->n_gone = 0;
	memset(t->bits, 0, sizeof t->bits);
	for (int i = 0; i < N; i++) {
		t->residual[i] = draw(&seed);
		t->grad[i + 1] = draw(&seed);
		if (next(&seed) % 64 >= gone_part)
			continue;
		t->gone[t->n_gone++] = i + FIRST;
		t->bits[i / 64] |= UINT64_C(1) << i % 64;
	}
}

/* Of two NaNs in a sum the processor takes either. */
static void expect_floats(const float *got, const float *want, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (!isnan(want[i]) || !isnan(got[i]))
			assert_memory_equal(&got[i], &want[i], 4);
}

static void one_block(struct tensors *t, uint64_t seed, struct accumulation what, uint32_t least)
{
	struct topk_types types = topk_types_of(FIRST + N, CHOIR_F32);
	struct select_input in = { .val = t->plain, .elem_bytes = 4, .n = N, .first = FIRST };
	struct select_output plain = { .ind = t->plain_ind, .form = types.form, .val = t->plain_val, .capacity = N };
	struct marking marking = {
		.gone = t->bits, .least = least, .first = FIRST, .ind = t->ind, .val = (uint32_t *)(void *)t->val
	};
	uint64_t found;

	fill(t, seed, (unsigned)(seed % 65));
	what.residual = what.residual != NULL ? t->residual : NULL;
	what.grad = t->grad + 1; /* of any alignment */
	what.acc = t->plain;
	vector_accumulate(CHOIR_F32, N, &what);
	if (what.residual != NULL)
		vector_restart(&types, t->gone, t->n_gone, FIRST, &what);
	found = select_host(&in, (struct select_limit){ .key = least, .ties = UINT64_MAX }, &plain);
	what.acc = t->acc;
	t->ind[N] = -1;
	assert_int_equal(mark_block(N, &what, &marking), found);
	assert_int_equal(t->ind[N], -1);
	expect_floats(t->acc, t->plain, N);
	assert_memory_equal(t->ind, t->plain_ind, found * 4);
	expect_floats(t->val, t->plain_val, found);
}

static void blocks(void **state)
{
	static const struct accumulation scales[] = { { .decay = 1, .scale = 1 },
		                                      { .decay = 0.5, .scale = -3 },
		                                      { .decay = -1, .scale = 0x1p-20 },
		                                      { .decay = 0, .scale = 1 } };
	static const uint32_t least[] = { 0, 1, 0x3f800000, 0x7f800000, 0x7f800001, 0x7fffffff };
	struct tensors *t = aligned_alloc(64, sizeof *t);
	float any = 0;

	(void)state;
	if (!mark_is_supported()) {
		free(t);
		skip();
	}
	for (uint64_t seed = 0; seed < 4 * 2 * 6 * 20; seed++) {
		struct accumulation what = scales[seed % 4];

		what.residual = seed / 4 % 2 == 0 ? &any : NULL;
		one_block(t, seed, what, least[seed / 8 % 6]);
	}
	free(t);
}

static void long_tensors(void **state)
{
	static const char *const algorithms[] = { "oktopk", "topka", "gaussiank", "dense" };
	/* so few, that a block may have more candidates than there is room for */
	static const uint64_t k[] = { LONG / 50, 100 };

	(void)state;
	for (int a = 0; a < 8; a++) {
		struct law law = { .config = law_config(algorithms[a / 2], LONG, k[a % 2]), .ranks = 2, .calls = 7 };

		law.config.dense_calls = 1;
		law_holds(&law);
		assert_true(law_moved() > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(blocks), cmocka_unit_test(long_tensors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
