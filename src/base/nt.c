/* SPDX-License-Identifier: MIT */
#include "base/nt.h"

#include <stddef.h>

enum { FIRST_CYCLE = 8, LONGEST_CYCLE = 512, TRIALS = 3, WINDOW = 8, FIRST_WINDOW = 6 };

static const float worth = 0.9f, changed = 1.5f;

int nt_size(uint64_t bytes, int n_sizes)
{
	int size = 0;

	for (uint64_t most = 2 * NT_LEAST_BYTES; bytes >= most && size < n_sizes - 1; most *= 2)
		size++;
	return size;
}

static void begin_window(struct nt_entry *entry)
{
	entry->least[0] = entry->least[1] = 0.0f;
	entry->looked = 0;
}

static void begin_trial(struct nt_entry *entry)
{
	entry->tries = true;
	entry->left = TRIALS;
}

static void end_trial(struct nt_entry *entry)
{
	float mine = entry->least[entry->way], other = entry->least[!entry->way];
	bool better = other > 0.0f && other < worth * mine;

	entry->cycle = better || entry->cycle == 0    ? FIRST_CYCLE
	               : entry->cycle < LONGEST_CYCLE ? 2 * entry->cycle
	                                              : LONGEST_CYCLE;
	entry->way = entry->way != better;
	entry->usual = entry->least[entry->way];
	entry->tries = false;
	entry->left = entry->cycle;
	begin_window(entry);
}

static bool is_change(const struct nt_entry *entry)
{
	return entry->usual > 0.0f && entry->least[entry->way] > changed * entry->usual;
}

static bool next_way(const struct nt_entry *entry)
{
	return entry->way != entry->tries;
}

static void learn(struct nt_entry *entry, bool way, float time)
{
	float *least = &entry->least[way];

	if (way != next_way(entry))
		return;
	*least = *least == 0.0f || time < *least ? time : *least;
	if (entry->left > 0)
		entry->left--;
	if (entry->tries) {
		if (entry->left == 0)
			end_trial(entry);
	} else if (++entry->looked >= (entry->usual > 0.0f ? WINDOW : FIRST_WINDOW)) {
		if (is_change(entry) || entry->left == 0)
			begin_trial(entry);
		else
			begin_window(entry);
	}
}

static bool way_of(const struct nt_choice *choice, int entry)
{
	return (atomic_load_explicit(choice->bits, memory_order_relaxed) >> entry & 1) != 0;
}

bool nt_choose(const struct nt_choice *choice, int entry)
{
	return choice->bits == NULL || way_of(choice, entry) != choice->far;
}

void nt_took(const struct nt_choice *choice, int entry, bool nt, uint64_t bytes, int64_t ns)
{
	struct nt_entry *mine = choice->entries;

	if (choice->bits == NULL || mine == NULL)
		return;
	learn(&mine[entry], nt != choice->far, (float)ns / (float)bytes);
	if (next_way(&mine[entry]) != way_of(choice, entry))
		atomic_fetch_xor_explicit(choice->bits, UINT64_C(1) << entry, memory_order_relaxed);
}
