/* SPDX-License-Identifier: MIT */
#include "plan/plan_check.h"

#include "base/error.h"
#include "plan/plan_races.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_neighbour(const struct plan_team *team, int rank, int peer)
{
	return peer >= 0 && peer < team->n && team->ranks[peer].node == team->ranks[rank].node;
}

static const char *const buffer_names[] = {
	[PLAN_SEND] = "SEND", [PLAN_RECV] = "RECV",           [PLAN_SCRATCH] = "scratch",
	[PLAN_SLOT] = "slot", [PLAN_PEER_SEND] = "peer SEND", [PLAN_PEER_RECV] = "peer RECV",
};

static uint64_t limit_of(const struct plan_team *team, int rank, struct plan_ref ref)
{
	const struct plan_rank *owner = &team->ranks[plan_team_owner(rank, ref)];

	if (ref.buf == PLAN_SEND || ref.buf == PLAN_PEER_SEND)
		return owner->send_bytes;
	if (ref.buf == PLAN_RECV || ref.buf == PLAN_PEER_RECV)
		return owner->recv_bytes;
	return ref.buf == PLAN_SCRATCH ? owner->plan->scratch_bytes : plan_team_slot_bytes(team, owner->plan);
}

/* May other ranks write to its slot? */
static bool expects_writes(const struct plan *plan)
{
	return plan->shares_slots && plan->writes_slot;
}

/* Checks one reference of a step: in bounds, of whole elements, and allowed in this place. */
static choir_status check_ref(const struct plan_team *team, int rank, uint32_t i, struct plan_ref ref, bool write)
{
	const struct plan *plan = team->ranks[rank].plan;
	uint64_t len = plan->steps[i].len, limit;

	if (len == 0)
		return CHOIR_SUCCESS;
	if (plan_team_owner(rank, ref) != rank && !is_neighbour(team, rank, ref.peer))
		return plan_team_wrong(team, rank, i, "%s of rank %d, which is not of its node", buffer_names[ref.buf],
		                       ref.peer);
	if (ref.buf == PLAN_SLOT && !plan->device && plan->slot_bytes != team->slot_bytes)
		return plan_team_wrong(team, rank, i, "uses slots, but plan->slot_bytes is %" PRIu64, plan->slot_bytes);
	if ((ref.buf == PLAN_PEER_SEND || ref.buf == PLAN_PEER_RECV) && !plan->peers)
		return plan_team_wrong(team, rank, i, "uses a peer's buffer, but plan->peers is not set");
	if (write && (ref.buf == PLAN_SEND || ref.buf == PLAN_PEER_SEND))
		return plan_team_wrong(team, rank, i, "writes %s", buffer_names[ref.buf]);
	if (write && ref.buf == PLAN_SLOT && ref.peer != rank && !(plan->shares_slots && !plan->device))
		return plan_team_wrong(team, rank, i, "writes the slot of rank %d", ref.peer);
	if (write && ref.buf == PLAN_SLOT && !plan->writes_slot)
		return plan_team_wrong(team, rank, i, "writes its slot, but plan->writes_slot is not set");
	if (write && ref.buf == PLAN_SLOT && plan->shares_slots && !expects_writes(team->ranks[ref.peer].plan))
		return plan_team_wrong(team, rank, i, "writes the slot of rank %d, whose plan does not expect it",
		                       ref.peer);
	limit = limit_of(team, rank, ref);
	if (len > limit || ref.off > limit - len)
		return plan_team_wrong(team, rank, i,
		                       "%" PRIu64 " bytes at offset %" PRIu64 " of %s reach beyond %" PRIu64, len,
		                       ref.off, buffer_names[ref.buf], limit);
	if (ref.buf == PLAN_SLOT && !plan->device &&
	    (plan->slot_used < len || ref.off > plan->slot_used - len ||
	     plan->slot_used != team->ranks[0].plan->slot_used))
		return plan_team_wrong(team, rank, i,
		                       "uses slots up to %" PRIu64 ", but plan->slot_used is %" PRIu64
		                       ", and rank 0's %" PRIu64,
		                       ref.off + len, plan->slot_used, team->ranks[0].plan->slot_used);
	if (ref.off % plan->elem_bytes || len % plan->elem_bytes)
		return plan_team_wrong(team, rank, i, "cuts an element");
	return CHOIR_SUCCESS;
}

static bool is_of_caller(struct plan_ref ref)
{
	return ref.buf != PLAN_SCRATCH && ref.buf != PLAN_SLOT;
}

static bool is_staged(const struct plan_team *team, int rank, struct plan_ref ref)
{
	const struct plan_rank *owner = &team->ranks[plan_team_owner(rank, ref)];

	if (ref.buf == PLAN_SEND || ref.buf == PLAN_PEER_SEND)
		return !owner->send_direct;
	return (ref.buf == PLAN_RECV || ref.buf == PLAN_PEER_RECV) && !owner->recv_direct;
}

static bool is_of_another(int rank, struct plan_ref ref)
{
	return plan_team_owner(rank, ref) != rank;
}

/* Note [device plans]: a peer's memory is only copied from, and kernels write neither SEND nor RECV, nor do they read
 * lists. */
static choir_status check_device(const struct plan_team *team, int rank, uint32_t i)
{
	const struct plan *plan = team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];
	bool reduces = step->kind == PLAN_REDUCE, lists = team->ranks[rank].lists;

	for (uint32_t k = 0; k < plan_step_targets(step); k++)
		if (is_of_another(rank, plan_step_target(plan, step, k)))
			return plan_team_wrong(team, rank, i, "writes memory of a peer's device");
	for (uint32_t k = 0; k < step->n_src && reduces; k++)
		if (is_of_another(rank, plan->refs[step->src_first + k]))
			return plan_team_wrong(team, rank, i, "reduces memory of a peer's device");
	for (uint32_t k = 0; k < step->n_src && reduces; k++)
		if (lists && is_of_caller(plan->refs[step->src_first + k]))
			return plan_team_wrong(team, rank, i, "is a kernel that reads a list");
	if (reduces && (step->n_more > 0 || is_of_caller(step->dst)))
		return plan_team_wrong(team, rank, i, "is a kernel that writes elsewhere than to its own memory");
	if (step->kind == PLAN_SEND_MSG || step->kind == PLAN_RECV_MSG)
		return plan_team_wrong(team, rank, i, "is a message in a plan on the device");
	return CHOIR_SUCCESS;
}

/* From SEND to RECV, by a command or a kernel of the device? */
static bool stays_on_device(const struct plan_rank *rank, const struct plan_step *step)
{
	if (step->dst.buf != PLAN_RECV || step->n_more > 0)
		return false;
	if (step->kind == PLAN_REDUCE)
		return rank->owns_reduced;
	return rank->owns_copied && step->kind == PLAN_COPY && rank->plan->refs[step->src_first].buf == PLAN_SEND;
}

/* A buffer that is not direct may only be copied from or to the library's memory, by its own rank. */
static choir_status check_staging(const struct plan_team *team, int rank, uint32_t i)
{
	const struct plan *plan = team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];
	bool from_callers = false, staged = false, peers = false;

	for (uint32_t k = 0; k < plan_step_targets(step); k++) {
		staged |= is_staged(team, rank, plan_step_target(plan, step, k));
		peers |= plan_step_target(plan, step, k).buf >= PLAN_PEER_SEND;
	}
	for (uint32_t k = 0; k < step->n_src; k++) {
		struct plan_ref src = plan->refs[step->src_first + k];

		staged |= is_staged(team, rank, src);
		from_callers |= is_of_caller(src);
		peers |= src.buf >= PLAN_PEER_SEND;
	}
	if (!staged || step->len == 0 || stays_on_device(&team->ranks[rank], step))
		return CHOIR_SUCCESS;
	if (step->kind != PLAN_COPY || peers || (is_of_caller(step->dst) && from_callers))
		return plan_team_wrong(team, rank, i, "touches a buffer that is not direct");
	return CHOIR_SUCCESS;
}

static bool overlap(const struct plan_access *a, const struct plan_access *b)
{
	return a->space == b->space && a->off < b->off + b->len && b->off < a->off + a->len;
}

/* A destination overlaps no other destination and no source; but one source of a REDUCE may be the destination. */
static choir_status check_alias(const struct plan_team *team, int rank, uint32_t i, uint32_t k)
{
	const struct plan *plan = team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];
	struct plan_access dst = plan_team_access(team, rank, plan_step_target(plan, step, k), step->len, true);
	int same = 0;

	for (uint32_t s = 0; s < step->n_src; s++) {
		struct plan_access src =
		    plan_team_access(team, rank, plan->refs[step->src_first + s], step->len, false);

		if (!overlap(&dst, &src))
			continue;
		if (src.off != dst.off)
			return plan_team_wrong(team, rank, i, "destination and source overlap");
		same++;
	}
	if (same > (step->kind == PLAN_REDUCE))
		return plan_team_wrong(team, rank, i, "destination is a source");
	for (uint32_t other = 0; other < k; other++) {
		struct plan_access before =
		    plan_team_access(team, rank, plan_step_target(plan, step, other), step->len, true);

		if (overlap(&dst, &before))
			return plan_team_wrong(team, rank, i, "destinations %u and %u overlap", other, k);
	}
	return CHOIR_SUCCESS;
}

static choir_status check_ends(const struct plan_team *team, int rank, uint32_t i)
{
	const struct plan *plan = team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];
	bool message = step->kind == PLAN_SEND_MSG || step->kind == PLAN_RECV_MSG;

	if (message && (step->peer < 0 || step->peer >= team->n))
		return plan_team_wrong(team, rank, i, "a message to or from rank %d, which does not exist", step->peer);
	if (message && !plan->messages)
		return plan_team_wrong(team, rank, i, "a message, but plan->messages is not set");
	if (message && step->len > team->message_bytes)
		return plan_team_wrong(team, rank, i, "a message of %" PRIu64 " bytes is longer than %" PRIu64,
		                       step->len, team->message_bytes);
	if (step->kind == PLAN_REDUCE && (step->peer < PLAN_ALL || step->peer >= team->n))
		return plan_team_wrong(team, rank, i, "the factor of rank %d, which does not exist", step->peer);
	if (step->kind == PLAN_AWAIT && step->peer != PLAN_ALL && !is_neighbour(team, rank, step->peer))
		return plan_team_wrong(team, rank, i, "awaits rank %d, which is not of its node", step->peer);
	if ((step->kind == PLAN_AWAIT || step->kind == PLAN_PUBLISH) &&
	    (step->phase < 1 || step->phase > PLAN_LAST_PHASE))
		return plan_team_wrong(team, rank, i, "phase %u is not 1 to %u", step->phase, PLAN_LAST_PHASE);
	return CHOIR_SUCCESS;
}

static choir_status check_shape(const struct plan_team *team, int rank, uint32_t i)
{
	const struct plan *plan = team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];
	uint32_t n_src_wanted = step->kind == PLAN_COPY || step->kind == PLAN_SEND_MSG;

	if (!step->label || !*step->label)
		return plan_team_wrong(team, rank, i, "has no label");
	if (step->kind == PLAN_REDUCE ? step->n_src < 1 : step->n_src != n_src_wanted)
		return plan_team_wrong(team, rank, i, "has %u sources", step->n_src);
	if (step->kind != PLAN_REDUCE && step->n_more)
		return plan_team_wrong(team, rank, i, "has %u further destinations", step->n_more);
	for (uint32_t d = 0; d < step->n_deps; d++)
		if (plan->deps[step->dep_first + d] >= i)
			return plan_team_wrong(team, rank, i, "depends on step %u, which is not before it",
			                       plan->deps[step->dep_first + d]);
	return check_ends(team, rank, i);
}

/* Phases rise, each PUBLISH depends on the one before, and last_phase is the last one. */
static choir_status check_phases(const struct plan_team *team, int rank)
{
	const struct plan *plan = team->ranks[rank].plan;
	uint32_t last = 0, before = PLAN_NO_STEP;

	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];
		bool chained = before == PLAN_NO_STEP;

		if (step->kind != PLAN_PUBLISH)
			continue;
		for (uint32_t d = 0; d < step->n_deps; d++)
			chained |= plan->deps[step->dep_first + d] == before;
		if (step->phase <= last || !chained)
			return plan_team_wrong(team, rank, i, "phase %u after %u", step->phase, last);
		last = step->phase;
		before = i;
	}
	if (plan->last_phase != last)
		return plan_team_wrong(team, rank, PLAN_NO_STEP, "last_phase is %u, not %u", plan->last_phase, last);
	return CHOIR_SUCCESS;
}

/* The successor lists must be the inverse of the deps. */
static choir_status check_successors(const struct plan_team *team, int rank)
{
	const struct plan *plan = team->ranks[rank].plan;
	uint64_t edges = 0;

	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		edges += step->n_deps;
		for (uint32_t d = 0; d < step->n_deps; d++) {
			uint32_t dep = plan->deps[step->dep_first + d], s = plan->succ_first[dep];

			while (s < plan->succ_first[dep + 1] && plan->succs[s] != i)
				s++;
			if (s == plan->succ_first[dep + 1])
				return plan_team_wrong(team, rank, i, "is missing from the successors of %u", dep);
		}
	}
	if (edges != plan->succ_first[plan->n_steps])
		return plan_team_wrong(team, rank, PLAN_NO_STEP, "successor lists of the wrong length");
	return CHOIR_SUCCESS;
}

static choir_status check_step(const struct plan_team *team, int rank, uint32_t i)
{
	const struct plan *plan = team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];

	TRY(check_shape(team, rank, i));
	for (uint32_t k = 0; k < plan_step_targets(step); k++)
		TRY(check_ref(team, rank, i, plan_step_target(plan, step, k), true));
	for (uint32_t k = 0; k < step->n_src; k++)
		TRY(check_ref(team, rank, i, plan->refs[step->src_first + k], false));
	TRY(plan->device ? check_device(team, rank, i) : check_staging(team, rank, i));
	for (uint32_t k = 0; step->len && k < plan_step_targets(step); k++)
		TRY(check_alias(team, rank, i, k));
	return CHOIR_SUCCESS;
}

/* The ranks of a node wait for each other's buffers at the start if their plans access them: all ranks or none. */
static choir_status check_peers(const struct plan_team *team)
{
	for (int r = 1; r < team->n; r++) {
		int first = 0;

		while (team->ranks[first].node != team->ranks[r].node)
			first++;
		if (team->ranks[first].plan->peers != team->ranks[r].plan->peers)
			return plan_team_wrong(team, r, PLAN_NO_STEP, "plan->peers is %d, where that of rank %d is %d",
			                       team->ranks[r].plan->peers, first, team->ranks[first].plan->peers);
		if (team->ranks[first].plan->device != team->ranks[r].plan->device)
			return plan_team_wrong(team, r, PLAN_NO_STEP, "plan->device is %d, where that of rank %d is %d",
			                       team->ranks[r].plan->device, first, team->ranks[first].plan->device);
	}
	return CHOIR_SUCCESS;
}

static choir_status check_steps(const struct plan_team *team)
{
	TRY(check_peers(team));
	for (int r = 0; r < team->n; r++) {
		for (uint32_t i = 0; i < team->ranks[r].plan->n_steps; i++)
			TRY(check_step(team, r, i));
		TRY(check_phases(team, r));
		TRY(check_successors(team, r));
	}
	return CHOIR_SUCCESS;
}

choir_status plan_check(const struct plan_team *team)
{
	struct plan_graph graph = { 0 };
	choir_status st;

	TRY(check_steps(team));
	st = plan_graph_build(team, &graph);
	if (st == CHOIR_SUCCESS)
		st = plan_races_check(team, &graph);
	plan_graph_free(&graph);
	return st;
}
