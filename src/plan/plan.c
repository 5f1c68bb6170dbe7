/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include "base/arithmetic.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *plan, const char *algorithm, uint64_t elem_bytes)
{
	*plan = (struct plan){ .algorithm = algorithm, .elem_bytes = elem_bytes, .building = CHOIR_SUCCESS };
	plan->last_publish = plan->scaled = PLAN_NO_STEP;
}

void plan_fini(struct plan *plan)
{
	free(plan->steps);
	free(plan->refs);
	free(plan->deps);
	free(plan->succ_first);
	free(plan->succs);
	*plan = (struct plan){ 0 };
}

/* Makes room for one more item; false without, or after an earlier failure.  Keeps the first failure in plan->building.
 * Counts stay below PLAN_NO_STEP. */
static bool grow(struct plan *plan, void **array, uint32_t used, uint32_t *cap, size_t item_bytes, const char *what)
{
	uint64_t more = *cap < 64 ? 64 : (uint64_t)*cap * 2;
	void *bigger;

	if (plan->building != CHOIR_SUCCESS)
		return false;
	if (used < *cap)
		return true;
	if (more >= PLAN_NO_STEP || more > SIZE_MAX / item_bytes) {
		plan->building = error_set(CHOIR_NO_MEMORY, "no memory for a plan with more than %u %s", *cap, what);
		return false;
	}
	bigger = realloc(*array, (size_t)more * item_bytes);
	if (!bigger) {
		plan->building = error_no_memory(what, (size_t)more * item_bytes);
		return false;
	}
	*array = bigger;
	*cap = (uint32_t)more;
	return true;
}

/* True if id is among the last few pending deps.  Older ones are not compared: a duplicate is harmless. */
static bool is_pending(const struct plan *plan, plan_id id)
{
	for (uint32_t i = 0; i < plan->pending_deps && i < 8; i++)
		if (plan->deps[plan->n_deps - 1 - i] == id)
			return true;
	return false;
}

void plan_need(struct plan *plan, plan_id id)
{
	if (is_pending(plan, id))
		return;
	if (id == PLAN_NO_STEP ||
	    !grow(plan, (void **)&plan->deps, plan->n_deps, &plan->cap_deps, sizeof *plan->deps, "plan deps"))
		return;
	plan->deps[plan->n_deps++] = id;
	plan->pending_deps++;
}

static bool is_of_peer(struct plan_ref ref)
{
	return ref.buf == PLAN_PEER_SEND || ref.buf == PLAN_PEER_RECV;
}

static bool add_ref(struct plan *plan, struct plan_ref ref)
{
	if (plan->scaled != PLAN_NO_STEP && ref.buf == PLAN_SEND)
		ref = plan_at(PLAN_SCRATCH, plan->scaled_off + ref.off);
	if (!grow(plan, (void **)&plan->refs, plan->n_refs, &plan->cap_refs, sizeof *plan->refs, "plan references"))
		return false;
	plan->refs[plan->n_refs++] = ref;
	plan->peers |= is_of_peer(ref);
	return true;
}

static void note_target(struct plan *plan, struct plan_ref dst, bool has_length)
{
	plan->writes_slot |= dst.buf == PLAN_SLOT;
	plan->writes_recv |= dst.buf == PLAN_RECV && has_length;
	plan->tells_peers |= dst.buf == PLAN_SLOT || dst.buf == PLAN_PEER_RECV;
}

void plan_source(struct plan *plan, struct plan_ref src)
{
	plan->pending_refs += add_ref(plan, src);
}

void plan_target(struct plan *plan, struct plan_ref dst)
{
	plan->pending_more += add_ref(plan, dst);
	note_target(plan, dst, true);
	plan->tells_peers = true;
}

/* Appends step with the pending sources, destinations and deps. */
static plan_id append(struct plan *plan, struct plan_step step, const plan_id *deps, size_t n_deps)
{
	for (size_t i = 0; i < n_deps; i++)
		plan_need(plan, deps[i]);
	plan_need(plan, plan->scaled); /* in place no step may write to SEND before plan_scale has read it */
	if (!grow(plan, (void **)&plan->steps, plan->n_steps, &plan->cap_steps, sizeof *plan->steps, "plan steps"))
		return PLAN_NO_STEP;
	step.n_deps = plan->pending_deps;
	step.dep_first = plan->n_deps - plan->pending_deps;
	step.n_src = plan->pending_refs;
	step.src_first = plan->n_refs - plan->pending_refs;
	step.n_more = plan->pending_more;
	step.more_first = step.src_first - plan->pending_more;
	plan->peers |= is_of_peer(step.dst);
	note_target(plan, step.dst, step.len > 0);
	for (uint32_t i = 0; i < step.n_src && step.len > 0; i++)
		plan->reads_send |= plan->refs[step.src_first + i].buf == PLAN_SEND;
	plan->pending_deps = plan->pending_refs = plan->pending_more = 0;
	plan->steps[plan->n_steps] = step;
	return plan->n_steps++;
}

plan_id plan_copy(struct plan *plan, struct plan_ref dst, struct plan_ref src, uint64_t len, const plan_id *deps,
                  size_t n_deps, const char *label)
{
	plan_source(plan, src);
	return append(plan, (struct plan_step){ .kind = PLAN_COPY, .dst = dst, .len = len, .label = label }, deps,
	              n_deps);
}

plan_id plan_join(struct plan *plan, const plan_id *deps, size_t n_deps, const char *label)
{
	struct plan_ref nowhere = plan_at(PLAN_SCRATCH, 0);

	return plan_copy(plan, nowhere, nowhere, 0, deps, n_deps, label);
}

plan_id plan_reduce(struct plan *plan, struct plan_ref dst, const struct plan_ref *src, size_t n_src, enum plan_raw raw,
                    bool final, uint64_t len, const plan_id *deps, size_t n_deps, const char *label)
{
	for (size_t i = 0; i < n_src; i++)
		plan_source(plan, src[i]);
	raw = plan->scaled != PLAN_NO_STEP ? PLAN_RAW_NONE : raw;
	return append(plan,
	              (struct plan_step){ .kind = PLAN_REDUCE,
	                                  .raw = raw,
	                                  .final = final,
	                                  .peer = PLAN_ALL,
	                                  .dst = dst,
	                                  .len = len,
	                                  .label = label },
	              deps, n_deps);
}

void plan_limit(struct plan *plan, const char *what, uint64_t number, uint64_t last)
{
	if (number > last && plan->building == CHOIR_SUCCESS)
		plan->building = error_set(CHOIR_UNSUPPORTED, "%s needs %s %" PRIu64 " of at most %" PRIu64,
		                           plan->algorithm, what, number, last);
}

plan_id plan_send(struct plan *plan, int peer, uint32_t tag, struct plan_ref src, uint64_t len, const plan_id *deps,
                  size_t n_deps, const char *label)
{
	plan_limit(plan, "tag", tag, PLAN_LAST_TAG);
	plan_source(plan, src);
	plan->messages = true;
	return append(plan,
	              (struct plan_step){ .kind = PLAN_SEND_MSG, .peer = peer, .tag = tag, .len = len, .label = label },
	              deps, n_deps);
}

plan_id plan_recv(struct plan *plan, int peer, uint32_t tag, struct plan_ref dst, uint64_t len, const plan_id *deps,
                  size_t n_deps, const char *label)
{
	plan_limit(plan, "tag", tag, PLAN_LAST_TAG);
	plan->messages = true;
	return append(plan,
	              (struct plan_step){
			  .kind = PLAN_RECV_MSG, .peer = peer, .tag = tag, .dst = dst, .len = len, .label = label },
	              deps, n_deps);
}

plan_id plan_publish(struct plan *plan, uint32_t phase, const plan_id *deps, size_t n_deps, const char *label)
{
	plan_id id;

	plan_limit(plan, "phase", phase, PLAN_LAST_PHASE);
	plan_need(plan, plan->last_publish);
	id = append(plan, (struct plan_step){ .kind = PLAN_PUBLISH, .phase = phase, .label = label }, deps, n_deps);
	if (id == PLAN_NO_STEP)
		return id;
	plan->last_publish = id;
	if (phase > plan->last_phase)
		plan->last_phase = phase;
	return id;
}

plan_id plan_await(struct plan *plan, int peer, uint32_t phase, const plan_id *deps, size_t n_deps, const char *label)
{
	plan_limit(plan, "phase", phase, PLAN_LAST_PHASE);
	plan->awaits = true;
	return append(plan, (struct plan_step){ .kind = PLAN_AWAIT, .peer = peer, .phase = phase, .label = label },
	              deps, n_deps);
}

uint64_t plan_scratch(struct plan *plan, uint64_t bytes)
{
	uint64_t off = plan->scratch_bytes;

	if (bytes > UINT64_MAX - 63 - off) {
		if (plan->building == CHOIR_SUCCESS)
			plan->building = error_set(CHOIR_NO_MEMORY, "no memory for 2^64 bytes of a plan's scratch");
		return 0;
	}
	plan->scratch_bytes = round_up(off + bytes, 64);
	return off;
}

void plan_scale(struct plan *plan, uint64_t bytes, bool direct)
{
	uint64_t off = plan_scratch(plan, bytes);
	struct plan_ref from = plan_at(PLAN_SEND, 0), to = plan_at(PLAN_SCRATCH, off);
	plan_id there = PLAN_NO_STEP;

	if (!direct) {
		there = plan_copy(plan, to, from, bytes, NULL, 0, "scale: in");
		from = to;
	}
	plan->scaled_off = off;
	plan->scaled = plan_reduce(plan, to, &from, 1, PLAN_RAW_ALL, false, bytes, &there, 1, "scale");
}

plan_id plan_scale_of(struct plan *plan, int rank, struct plan_ref dst, struct plan_ref src, uint64_t len,
                      const plan_id *deps, size_t n_deps)
{
	plan_id id = plan_reduce(plan, dst, &src, 1, PLAN_RAW_ALL, false, len, deps, n_deps, "scale");

	if (id != PLAN_NO_STEP)
		plan->steps[id].peer = rank;
	return id;
}

/* Builds the successor lists as compressed rows: count, prefix sums, fill. */
choir_status plan_finish(struct plan *plan)
{
	uint32_t *first, *succs;

	TRY(plan->building);
	first = calloc((size_t)plan->n_steps + 2, sizeof *first);
	succs = calloc((size_t)plan->n_deps + 1, sizeof *succs);
	if (!first || !succs) {
		free(first);
		free(succs);
		plan->building =
		    error_no_memory("a plan's successor lists", ((size_t)plan->n_steps + plan->n_deps) * sizeof *first);
		return plan->building;
	}
	for (uint32_t i = 0; i < plan->n_steps; i++)
		for (uint32_t d = 0; d < plan->steps[i].n_deps; d++)
			first[plan->deps[plan->steps[i].dep_first + d] + 2]++;
	for (uint32_t i = 0; i < plan->n_steps; i++)
		first[i + 2] += first[i + 1];
	/* first[i + 1] is where step i's row begins; filling moves it to the row's end, which is where row i + 1
	 * begins. */
	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		for (uint32_t d = 0; d < step->n_deps; d++)
			succs[first[plan->deps[step->dep_first + d] + 1]++] = i;
	}
	free(plan->succ_first);
	free(plan->succs);
	plan->succ_first = first;
	plan->succs = succs;
	return CHOIR_SUCCESS;
}
