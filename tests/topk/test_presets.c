/* SPDX-License-Identifier: MIT */
/* The presets are the constants of docs/topk.md: the warm-up, when thresholds are found anew, their bands and factors.
 * The residual is forgotten, so that counts follow the gradients: some are outside of every band. */
#include "topk/law.h"
#include "world/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 400, K = 40, RANKS = 2, PROBES = 5, BEYOND = 60 };

struct preset {
	const char *name;
	int warm_up, period; /* of both thresholds */
	double probe, low, high, factor;
	double global_low, global_high, down, up;
};

static const struct preset presets[] = {
	{ "vgg", 512, 32, 4. / 3, 2. / 3, 5. / 4, 1.012, 2. / 3, 4. / 3, 1.008, 1.008 },
	{ "lstm", 128, 32, 3. / 2, 3. / 4, 5. / 4, 1.012, 3. / 4, 5. / 4, 1.010, 1.008 },
	{ "bert", 0, 128, 0, 4. / 5, 5. / 4, 1.025, 4. / 5, 5. / 4, 1.036, 1.025 },
};

/* What was seen of a preset, so that no rule passes for want of a case. */
struct seen {
	int lowered, raised, probed, global_lowered, global_raised;
};

/* No two magnitudes alike; those of some calls are larger, those of others smaller. */
static float value(int rank, int call, size_t i)
{
	uint64_t x = (uint64_t)rank * 77 + (uint64_t)call * 1009 + i * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 31;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 29;
	return ((float)(int)(x % 4000001) / 1000 - 2000) * (call % 7 == 3 ? 1.1f : call % 7 == 5 ? 0.95f : 1);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The most entries that are sent, or in the result: of more the largest are. */
static uint64_t top(double high)
{
	return (uint64_t)(high * K);
}

/* What was the wanted threshold is raised by 1.03 up to five times. */
static bool is_probed(const struct preset *preset, double wanted, const choir_topk_stats *now, struct seen *seen)
{
	int raised = 0;

	while (raised < PROBES && preset->probe > 0 && now->local_threshold > wanted * 1.01) {
		wanted *= 1.03;
		raised++;
	}
	seen->probed += raised > 0;
	return near(now->local_threshold, wanted);
}

/* The fewest entries that are sent. */
static uint64_t bottom(double low)
{
	return (uint64_t)ceil(low * K);
}

/* The local threshold follows from the one before and how many that let pass; just the band's top may have passed, or
 * more; just its bottom, or fewer. */
static bool local_follows(const struct preset *preset, const choir_topk_stats *before, const choir_topk_stats *now,
                          struct seen *seen)
{
	double wanted = before->local_threshold;

	if (now->selected > top(preset->high) || now->selected < bottom(preset->low))
		return false;
	if (before->selected == bottom(preset->low) && is_probed(preset, wanted / preset->factor, now, seen)) {
		seen->lowered++;
		return true;
	}
	if (before->selected == top(preset->high) && is_probed(preset, wanted * preset->factor, now, seen)) {
		seen->raised++;
		return true;
	}
	return is_probed(preset, wanted, now, seen);
}

/* What is told of the global threshold is what the next call begins with. */
static bool global_follows(const struct preset *preset, const choir_topk_stats *before, const choir_topk_stats *now,
                           struct seen *seen)
{
	double wanted = before->global_threshold;

	if (now->pairs > top(preset->global_high))
		return false;
	if ((double)now->pairs < preset->global_low * K)
		wanted /= preset->down, seen->global_lowered++;
	if (now->pairs == top(preset->global_high) && near(now->global_threshold, wanted * preset->up)) {
		seen->global_raised++;
		return true;
	}
	return near(now->global_threshold, wanted);
}

static void check_call(struct world *world, int rank, const struct preset *preset, int call,
                       const choir_topk_stats *before, const choir_topk_stats *now, struct seen *seen)
{
	bool exact = (call - preset->warm_up) % preset->period == 0;

	if (strcmp(now->algorithm, call < preset->warm_up ? "dense" : "oktopk") != 0)
		world_fail(world, rank, "%s: call %d is %s", preset->name, call, now->algorithm);
	if (call < preset->warm_up)
		return;
	if (exact ? now->selected != K || now->pairs != K
	          : !local_follows(preset, before, now, seen) || !global_follows(preset, before, now, seen))
		world_fail(world, rank,
		           "%s, call %d: %d selected by %.9g, after %d by %.9g; %d in the result, then %.9g",
		           preset->name, call, (int)now->selected, now->local_threshold, (int)before->selected,
		           before->local_threshold, (int)now->pairs, now->global_threshold);
}

static void preset_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct preset *preset = arg;
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_stats stats[2] = { { .struct_size = sizeof *stats }, { .struct_size = sizeof *stats } };
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	struct seen seen = { 0 };
	float grad[N];

	config.preset = preset->name;
	config.decay = 0;
	out.dense = choir_host(grad);
	OK(choir_topk_create(comm, &config, &state));
	for (int call = 0; call < preset->warm_up + preset->period + BEYOND; call++) {
		choir_topk_stats *now = &stats[call % 2];
		choir_event *event = NULL;

		for (size_t i = 0; i < N; i++)
			grad[i] = value(rank, call, i);
		OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, &event));
		OK(choir_event_wait(event, -1));
		OK(choir_event_topk_stats(event, now));
		choir_event_release(event);
		check_call(world, rank, preset, call, &stats[1 - call % 2], now, &seen);
	}
	CHECK(seen.lowered > 0 && seen.raised > 0 && seen.global_lowered > 0 && seen.global_raised > 0);
	CHECK((seen.probed > 0) == (preset->probe > 0));
	choir_topk_destroy(state);
}

static void constants(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
		line_up_run(RANKS, 0, 30000, preset_rank, (void *)&presets[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(constants) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
