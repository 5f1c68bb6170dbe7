/* SPDX-License-Identifier: MIT */
#include "algo/history.h"

static bool is_near(uint64_t a, uint64_t b)
{
	return a / 2 <= b && b / 2 <= a;
}

static int latest(const struct history *history, const struct history_call *call)
{
	int found = -1;

	for (int i = 0; i < HISTORY_ROWS; i++) {
		const struct history_row *row = &history->rows[i];
		bool like = row->call.kind == call->kind && is_near(row->call.count, call->count) &&
		            is_near(row->call.range, call->range);

		if (row->age > 0 && like && (found < 0 || row->age > history->rows[found].age))
			found = i;
	}
	return found;
}

static int oldest(const struct history *history)
{
	int found = 0;

	for (int i = 1; i < HISTORY_ROWS; i++)
		if (history->rows[i].age < history->rows[found].age)
			found = i;
	return found;
}

struct history_row history_find(const struct history *history, const struct history_call *call)
{
	int found = latest(history, call);

	return found < 0 ? (struct history_row){ .taken = -1 } : history->rows[found];
}

void history_note(struct history *history, const struct history_call *call, int taken, double growth)
{
	int found = latest(history, call);
	struct history_row *row = &history->rows[found < 0 ? oldest(history) : found];

	if (taken < 0)
		taken = found < 0 ? -1 : row->taken;
	*row = (struct history_row){ .call = *call, .age = ++history->age, .taken = taken, .growth = growth };
}
