/* SPDX-License-Identifier: MIT */
#include "trials/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool judge_fails(char *why, size_t bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, bytes, format, args);
	va_end(args);
	return false;
}

bool judge_is_gone(const struct trial *t, int rank)
{
	return rank == t->victim && (t->ending == ENDS_KILLED || t->ending == ENDS_STOPPED);
}

/* "rank 1", and not "rank 12". */
static bool names(const char *text, const char *before, int rank)
{
	char words[64];
	const char *at;

	snprintf(words, sizeof words, "%srank %d", before, rank);
	at = strstr(text, words);
	return at != NULL && (at[strlen(words)] < '0' || at[strlen(words)] > '9');
}

static bool says_dead(const char *text, int rank)
{
	char words[64];

	snprintf(words, sizeof words, "rank %d is dead", rank);
	return strstr(text, words) != NULL;
}

/* The victim's own call on the comm that it destroyed ends well, is ABORTED, or begins too late: ARGUMENT. */
static bool is_right_of_victim(const struct outcome *o)
{
	return o->status == CHOIR_SUCCESS || o->status == CHOIR_ABORTED ||
	       (o->status == CHOIR_ARGUMENT && strstr(o->text, "has been destroyed") != NULL);
}

/* Does the sentence say the right thing of the victim? */
static bool is_right(const struct trial *t, int rank, const struct outcome *o)
{
	switch (t->ending) {
	case ENDS_KILLED:
		return o->status == CHOIR_PEER_DEAD && says_dead(o->text, t->victim);
	case ENDS_STOPPED:
		return o->status == CHOIR_TIMEOUT && names(o->text, "waits for ", t->victim);
	case ENDS_ABORTED:
		return o->status == CHOIR_ABORTED && names(o->text, "aborted by ", t->victim);
	case ENDS_DESTROYED:
		if (rank == t->victim)
			return is_right_of_victim(o);
		return o->status == CHOIR_ABORTED && names(o->text, "waits for ", t->victim) &&
		       strstr(o->text, ", which destroyed its comm") != NULL;
	default:
		return o->status == CHOIR_SUCCESS;
	}
}

/* What of that rank's time counts, and how much it may be. */
static int64_t took_ms(const struct trial *t, const struct table *table, const struct outcome *o, int64_t *most_p)
{
	*most_p = (t->ending == ENDS_SLOW ? SLOW_MS : t->ending <= ENDS_STOPPED ? DEADLINE_MS : 0) + LATE_MS;
	if (t->ending == ENDS_SLOW)
		return o->longest_ms;
	return t->ending <= ENDS_STOPPED ? o->ms : o->ended_ms - table->ended_ms;
}

bool judge_trial(const struct trial *t, const struct table *table, int64_t *worst_ms, char *why, size_t bytes)
{
	for (int r = 0; r < t->n; r++) {
		const struct outcome *o = &table->outcomes[r];
		int64_t most, ms = took_ms(t, table, o, &most);

		if (judge_is_gone(t, r))
			continue;
		*worst_ms = ms > *worst_ms ? ms : *worst_ms;
		if (o->wrong_data)
			return judge_fails(why, bytes, "rank %d got wrong data", r);
		if (!is_right(t, r, o))
			return judge_fails(why, bytes, "rank %d: %s: %s", r, choir_status_name(o->status), o->text);
		if (ms > most)
			return judge_fails(why, bytes, "rank %d took %lld ms: %s", r, (long long)ms, o->text);
	}
	return true;
}
