/* SPDX-License-Identifier: MIT */
#include "seeded.h"
#include "trials/trials.h"

#include <stdio.h>

static const char *const endings[] = { "killed", "stopped", "slow", "aborts", "destroys" };
static const char *const settings[] = { "processes", "nodes", "threads", "thread nodes" };
static const char *const kinds[] = { "of host memory",
	                             "of symmetric memory",
	                             "of cl_mem",
	                             "to the next rank",
	                             "of host memory",
	                             "of cl_mem",
	                             "of a comm split for it",
	                             "of memory allocated for it" };

const char *ending_name(enum ending ending)
{
	return endings[ending];
}

const char *setting_name(enum setting setting)
{
	return settings[setting];
}

/* Any that one call makes. */
static enum collective_index draw_collective(uint64_t *r, enum call_kind kind)
{
	enum collective_index what = SENDRECV;

	if (kind == CALL_MEMORY)
		return ALLREDUCE;
	while (kind != CALL_PAIR && (what == SENDRECV || collectives[what].waits))
		what = (enum collective_index)random_below(r, N_MOVING_COLLECTIVES);
	return what;
}

/* Three classes and two or four settings: each class comes in each setting. */
static choir_memory_class draw_class(uint64_t seed, enum call_kind kind)
{
	static const choir_memory_class classes[] = { CHOIR_CLASS_AUTO, CHOIR_CLASS_MAP, CHOIR_CLASS_STAGE };

	switch (kind) {
	case CALL_DEVICE:
	case CALL_SPLIT:
		return classes[seed / N_CALL_KINDS % 3];
	case CALL_SPARSE_DEVICE:
	case CALL_PAIR:
		return classes[(seed / N_CALL_KINDS + 2) % 3];
	default:
		return CHOIR_CLASS_AUTO;
	}
}

/* 20 seeds in a row have every kind at least twice, every setting and every class.  A signal stops or ends a whole
 * process. */
struct trial trial_draw(uint64_t seed, enum ending ending)
{
	static const size_t counts[] = { 1, 40, 1000, 20000, 200000 };
	int n_settings = ending <= ENDS_STOPPED ? AS_THREADS : N_SETTINGS;
	struct trial t = { .seed = seed, .ending = ending };
	uint64_t r = random_mix(seed) + (uint64_t)ending;

	t.kind = (enum call_kind)(seed % N_CALL_KINDS);
	t.setting = (enum setting)((seed + seed / N_CALL_KINDS) % (uint64_t)n_settings);
	t.memory_class = draw_class(seed, t.kind);
	t.what = draw_collective(&r, t.kind);
	t.algorithm = random_below(&r, 2) ? random_below(&r, 1 << 20) : 0;
	t.n = 2 + random_below(&r, MOST_RANKS - 1);
	if (t.setting == ON_NODES || t.setting == THREADS_ON_NODES)
		t.ranks_per_node = t.n == 2 ? 1 : 1 + random_below(&r, 2);
	t.victim = random_below(&r, t.n);
	t.count = counts[random_below(&r, 5)] + (size_t)random_below(&r, 100);
	if (collectives[t.what].kind != SPREAD_WHOLE) /* where all blocks are empty nobody waits for anybody */
		t.count += MOST_RANKS * MOST_RANKS;
	t.after_calls = 1 + random_below(&r, 40);
	t.delay_us = random_below(&r, 3000);
	t.in_call = random_below(&r, 3) > 0 && t.kind != CALL_MEMORY; /* whose memory would go within */
	return t;
}

int64_t trial_deadline_ms(const struct trial *t)
{
	return t->ending == ENDS_KILLED || t->ending == ENDS_STOPPED ? DEADLINE_MS : LONG_DEADLINE_MS;
}

void trial_describe(const struct trial *t, char *text, size_t bytes)
{
	bool sparse = t->kind == CALL_SPARSE || t->kind == CALL_SPARSE_DEVICE;
	char where[32] = "", class[32] = "";

	if (t->memory_class != CHOIR_CLASS_AUTO)
		snprintf(class, sizeof class, " (class %s)", choir_memory_class_name(t->memory_class));
	if (t->ranks_per_node > 0)
		snprintf(where, sizeof where, ", %d a node", t->ranks_per_node);
	snprintf(
	    text, bytes, "-e %s -s %llu: %s %s%s, %zu elements, %d ranks (%s%s), rank %d %s %lld us after call %d%s",
	    endings[t->ending], (unsigned long long)t->seed, sparse ? "sparse_allreduce" : collectives[t->what].name,
	    kinds[t->kind], class, t->count, t->n, t->setting >= AS_THREADS ? "threads" : "processes", where, t->victim,
	    endings[t->ending], (long long)t->delay_us, t->after_calls,
	    t->ending == ENDS_DESTROYED && t->in_call ? ", inside one" : "");
}
