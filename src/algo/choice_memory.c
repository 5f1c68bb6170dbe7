/* SPDX-License-Identifier: MIT */
#include "algo/choice_memory.h"

static bool is_near(uint64_t a, uint64_t b)
{
	return a / 2 <= b && b / 2 <= a;
}

static int latest(const struct choice_memory *memory, const struct choice_memory_call *call)
{
	int found = -1;

	for (int i = 0; i < CHOICE_MEMORY_ROWS; i++) {
		const struct choice_memory_row *row = &memory->rows[i];
		bool like = row->call.kind == call->kind && is_near(row->call.count, call->count) &&
		            is_near(row->call.range, call->range);

		if (row->age > 0 && like && (found < 0 || row->age > memory->rows[found].age))
			found = i;
	}
	return found;
}

static int oldest(const struct choice_memory *memory)
{
	int found = 0;

	for (int i = 1; i < CHOICE_MEMORY_ROWS; i++)
		if (memory->rows[i].age < memory->rows[found].age)
			found = i;
	return found;
}

struct choice_memory_row choice_memory_find(const struct choice_memory *memory, const struct choice_memory_call *call)
{
	int found = latest(memory, call);

	return found < 0 ? (struct choice_memory_row){ .taken = -1 } : memory->rows[found];
}

void choice_memory_note(struct choice_memory *memory, const struct choice_memory_call *call, int taken, double growth)
{
	int found = latest(memory, call);
	struct choice_memory_row *row = &memory->rows[found < 0 ? oldest(memory) : found];

	if (taken < 0)
		taken = found < 0 ? -1 : row->taken;
	*row = (struct choice_memory_row){ .call = *call, .age = ++memory->age, .taken = taken, .growth = growth };
}
