/* SPDX-License-Identifier: MIT */
#include "exec/late.h"

#include "base/arithmetic.h"
#include "base/plural.h"
#include "exec/liveness.h"
#include "exec/p2p.h"
#include "exec/record.h"

#include <stdio.h>

enum { SILENCE_MS = 100, SURE_MS = 2000 };

int64_t late_waited_ms(const struct run *run, int64_t now)
{
	return (now - (run->watch.started_ns != 0 ? run->watch.started_ns : run->watch.first_check_ns)) / 1000000;
}

/* A rank without a sign for so long has stopped.  Signs come every 20 ms, of a rank that gets a core; a call that has
 * waited for long can afford to be sure. */
int64_t late_silence_ns(int64_t waited_ms)
{
	return max_i64(SILENCE_MS, min_i64(waited_ms / 4, SURE_MS)) * 1000000;
}

/* Of the ranks that the run waits for in that way. */
static int most_silent(struct run *run, bool (*waits)(struct run *run, int rank), int64_t now)
{
	int64_t longest = -1;
	int first = -1;

	for (int rank = 0; rank < run->comm->n; rank++) {
		int64_t silence;

		if (rank == run->comm->rank || !waits(run, rank))
			continue;
		silence = liveness_silence_ns(run->comm, rank, now);
		if (silence > longest) {
			longest = silence;
			first = rank;
		}
	}
	return first;
}

int late_most_silent(struct run *run, int64_t now)
{
	return most_silent(run, run_waits_for, now);
}

/* Is the rank known not to be in the call yet? */
static bool is_absent(const struct run *run, int rank)
{
	uint64_t calls;

	return !run->bound.pair && rank != run->comm->rank && liveness_calls(run->comm, rank, &calls) &&
	       calls <= run->seq;
}

static bool is_silent(const struct run *run, int rank, int64_t now)
{
	return liveness_silence_ns(run->comm, rank, now) >= late_silence_ns(late_waited_ms(run, now));
}

static int first_absent(const struct run *run)
{
	for (int rank = 0; rank < run->comm->n; rank++)
		if (is_absent(run, rank))
			return rank;
	return -1;
}

/* A silent rank whose process takes no messages comes first: no other rank is the reason for that (Note [room] in
 * net/sends.h).  Ranks that are not in the call yet come before those that are: they may be the reason why these wait.
 * One that gives signs may itself wait for another, in an earlier call. */
static int find_culprit(struct run *run, int64_t now)
{
	int absent = first_absent(run), direct = late_most_silent(run, now);
	int full = most_silent(run, run_lacks_room, now);

	if (full >= 0 && is_silent(run, full, now))
		return full;
	if (direct < 0 || (absent >= 0 && is_silent(run, absent, now)))
		return direct < 0 ? -1 : absent;
	return liveness_culprit(run->comm, absent >= 0 ? absent : direct, now,
	                        late_silence_ns(late_waited_ms(run, now)));
}

/* Are other ranks as late as this one? */
static bool has_company(struct run *run, int culprit, int64_t now)
{
	bool absent = is_absent(run, culprit);

	for (int rank = 0; rank < run->comm->n; rank++)
		if (rank != culprit &&
		    (absent ? is_absent(run, rank) : run_waits_for(run, rank) && is_silent(run, rank, now)))
			return true;
	return false;
}

/* " (it has made 3 calls)": the state of the rank that is late, as far as it is known; else empty. */
static void say_known(const struct run *run, int rank, int64_t now, double seconds, char *text, size_t bytes)
{
	uint64_t calls;
	double silence = (double)liveness_silence_ns(run->comm, rank, now) / 1e9;

	text[0] = '\0';
	if (!liveness_calls(run->comm, rank, &calls))
		snprintf(text, bytes, " (nothing was heard from it)");
	else if (is_absent(run, rank))
		snprintf(text, bytes, " (it has made %llu call%s)", (unsigned long long)calls, plural(calls));
	else if (is_silent(run, rank, now))
		snprintf(text, bytes, " (it has given no sign for %.1f s)", silence < seconds ? silence : seconds);
}

/* "; a message from it with tag 7 waits for a recv": of a recv whose peer sends with another tag. */
static void say_other_tag(struct run *run, char *text, size_t bytes)
{
	uint32_t tag;

	text[0] = '\0';
	if (run->bound.pair && !run->bound.pair_sends &&
	    (p2p_other_tag(run, &tag) || inbox_other_tag(&run->comm->inbox, run->number, run->bound.pair_peer, &tag)))
		snprintf(text, bytes, "; a message from it with tag %u waits for a recv", (unsigned)tag);
}

/* What a run waits for that waits for no rank. */
static const char *late_of(const struct run *run)
{
	switch (run->state) {
	case RUN_ADMIT:
		return "an earlier call of this rank is";
	case RUN_ASK:
		return "the device is, or an earlier call of this rank";
	default:
		return "the device is";
	}
}

/* In a job a run waits for no rank: the others wait for this one. */
static void say_job(const struct run *run, const char *called, double seconds, char *text, size_t bytes)
{
	const struct choir_comm *comm = run->comm;

	snprintf(text, bytes, "%s: rank %d: %s is not done after %.1f s: %s of rank %d has not ended", comm->name,
	         comm->rank, called, seconds, run->script.is_callback ? "a callback" : "the work", comm->rank);
}

void late_say(struct run *run, int64_t now, double seconds, char *text, size_t bytes)
{
	struct choir_comm *comm = run->comm;
	char called[RUN_TEXT_BYTES], known[96], other[80];
	int culprit = find_culprit(run, now);

	run_call_text(run, called, sizeof called);
	if (run->state == RUN_JOB) {
		say_job(run, called, seconds, text, bytes);
		return;
	}
	if (culprit < 0) {
		snprintf(text, bytes, "%s: rank %d: %s is not done after %.1f s, and no rank is late: %s", comm->name,
		         comm->rank, called, seconds, late_of(run));
		return;
	}
	say_known(run, culprit, now, seconds, known, sizeof known);
	say_other_tag(run, other, sizeof other);
	snprintf(text, bytes, "%s: rank %d: %s waits for rank %d%s%s after %.1f s%s%s", comm->name, comm->rank, called,
	         culprit, known, has_company(run, culprit, now) ? " and others" : "", seconds, other,
	         messenger_lacks_memory(comm->messenger) ? "; there is no memory for a message that has come" : "");
}
