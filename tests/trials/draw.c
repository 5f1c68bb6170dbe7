/* SPDX-License-Identifier: MIT */
#include "seeded.h"
#include "trials/trials.h"

#include <stdio.h>

static const char *const endings[] = { "killed", "stopped", "slow", "aborts", "destroys" };
static const char *const settings[] = { "threads", "processes", "nodes" };
static const char *const kinds[] = { "allreduce of host memory",
	                             "allreduce of symmetric memory",
	                             "allreduce of cl_mem",
	                             "broadcast",
	                             "alltoallv",
	                             "sendrecv",
	                             "sparse_allreduce",
	                             "allreduce of memory allocated for it",
	                             "allreduce of a comm split for it" };

const char *ending_name(enum ending ending)
{
	return endings[ending];
}

const char *setting_name(enum setting setting)
{
	return settings[setting];
}

struct trial trial_draw(uint64_t seed)
{
	static const size_t counts[] = { 1, 40, 1000, 20000, 200000 };
	struct trial t = { .seed = seed };
	uint64_t r = seed;

	t.setting = (enum setting)random_below(&r, N_SETTINGS);
	t.ending = (enum ending)random_below(&r, N_ENDINGS);
	if (t.setting == AS_THREADS && t.ending < ENDS_SLOW) /* a signal ends the whole process */
		t.setting = AS_PROCESSES;
	t.kind = (enum call_kind)random_below(&r, N_CALL_KINDS);
	t.n = 2 + random_below(&r, MOST_RANKS - 1);
	t.ranks_per_node = t.setting == ON_NODES ? 1 + random_below(&r, 2) : 0;
	t.victim = random_below(&r, t.n);
	t.count = counts[random_below(&r, 5)] + (size_t)random_below(&r, 100);
	t.after_calls = 1 + random_below(&r, 40);
	t.delay_us = random_below(&r, 3000);
	return t;
}

int64_t trial_deadline_ms(const struct trial *t)
{
	return t->ending == ENDS_KILLED || t->ending == ENDS_STOPPED ? DEADLINE_MS : LONG_DEADLINE_MS;
}

void trial_describe(const struct trial *t, char *text, size_t bytes)
{
	char where[32] = "";

	if (t->ranks_per_node > 0)
		snprintf(where, sizeof where, ", %d a node", t->ranks_per_node);
	snprintf(text, bytes, "seed %llu: %s of %zu, %d ranks (%s%s), rank %d %s %lld us after call %d",
	         (unsigned long long)t->seed, kinds[t->kind], t->count, t->n,
	         settings[t->setting == AS_THREADS ? AS_THREADS : AS_PROCESSES], where, t->victim, endings[t->ending],
	         (long long)t->delay_us, t->after_calls);
}
