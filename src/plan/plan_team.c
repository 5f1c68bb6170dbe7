/* SPDX-License-Identifier: MIT */
#include "plan/plan_team.h"

#include "base/error.h"
#include "base/plural.h"

#include <stdarg.h>
#include <stdio.h>

int plan_team_owner(int rank, struct plan_ref ref)
{
	return ref.buf == PLAN_SLOT || ref.buf == PLAN_PEER_SEND || ref.buf == PLAN_PEER_RECV ? ref.peer : rank;
}

struct plan_access plan_team_access(const struct plan_team *team, int rank, struct plan_ref ref, uint64_t len,
                                    bool write)
{
	int owner = plan_team_owner(rank, ref);
	struct plan_access a = { .off = ref.off, .len = len, .write = write };
	enum plan_space space = PLAN_SPACE_USER;

	switch (ref.buf) {
	case PLAN_SEND:
	case PLAN_PEER_SEND:
		a.off += team->ranks[owner].send_at;
		break;
	case PLAN_RECV:
	case PLAN_PEER_RECV:
		a.off += team->ranks[owner].recv_at;
		break;
	case PLAN_SCRATCH:
		space = PLAN_SPACE_SCRATCH;
		break;
	case PLAN_SLOT:
		space = PLAN_SPACE_SLOT;
		break;
	}
	a.space = (uint32_t)owner * PLAN_SPACES + (uint32_t)space;
	return a;
}

choir_status plan_team_wrong(const struct plan_team *team, int rank, uint32_t step, const char *format, ...)
{
	const struct plan *plan = team->ranks[rank].plan;
	char where[128] = "", what[320];
	va_list args;

	if (step != PLAN_NO_STEP)
		snprintf(where, sizeof where, " step %u (%s)", step,
		         plan->steps[step].label ? plan->steps[step].label : "no label");
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return error_set(CHOIR_MISMATCH, "%s, %d rank%s: rank %d%s: %s", plan->algorithm ? plan->algorithm : "?",
	                 team->n, plural(team->n), rank, where, what);
}
