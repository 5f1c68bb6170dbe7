/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include "base/plural.h"

#include <inttypes.h>

static const char *const kind_names[] = {
	[PLAN_COPY] = "copy",     [PLAN_REDUCE] = "reduce",   [PLAN_SEND_MSG] = "send",
	[PLAN_RECV_MSG] = "recv", [PLAN_PUBLISH] = "publish", [PLAN_AWAIT] = "await",
};

static const char *const kind_colours[] = {
	[PLAN_COPY] = "lightgrey",   [PLAN_REDUCE] = "lightsalmon", [PLAN_SEND_MSG] = "lightblue",
	[PLAN_RECV_MSG] = "skyblue", [PLAN_PUBLISH] = "palegreen",  [PLAN_AWAIT] = "khaki",
};

static const char *const raw_names[] = {
	[PLAN_RAW_NONE] = "", [PLAN_RAW_REST] = " raw:rest", [PLAN_RAW_ALL] = " raw:all"
};

const char *plan_kind_name(enum plan_kind kind)
{
	return (size_t)kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : "unknown";
}

const char *plan_buf_name(enum plan_buf buf)
{
	static const char *const names[] = {
		[PLAN_SEND] = "send", [PLAN_RECV] = "recv",           [PLAN_SCRATCH] = "scratch",
		[PLAN_SLOT] = "slot", [PLAN_PEER_SEND] = "peer send", [PLAN_PEER_RECV] = "peer recv"
	};

	return (size_t)buf < sizeof names / sizeof *names ? names[buf] : "unknown";
}

static void dump_ref(struct plan_ref ref, FILE *out)
{
	fputs(plan_buf_name(ref.buf), out);
	if (ref.buf == PLAN_SLOT || ref.buf == PLAN_PEER_SEND || ref.buf == PLAN_PEER_RECV)
		fprintf(out, "(%" PRId32 ")", ref.peer);
	fprintf(out, "+%" PRIu64, ref.off);
}

static void dump_peer(int32_t peer, FILE *out)
{
	if (peer == PLAN_ALL)
		fputs("all", out);
	else
		fprintf(out, "%" PRId32, peer);
}

static void dump_sources(const struct plan *plan, const struct plan_step *step, FILE *out)
{
	for (uint32_t i = 0; i < step->n_src; i++) {
		if (i)
			fputs(", ", out);
		dump_ref(plan->refs[step->src_first + i], out);
	}
}

static void dump_targets(const struct plan *plan, const struct plan_step *step, FILE *out)
{
	dump_ref(step->dst, out);
	for (uint32_t i = 0; i < step->n_more; i++) {
		fputs(", ", out);
		dump_ref(plan->refs[step->more_first + i], out);
	}
}

/* Writes the step without its number and deps. */
static void dump_step(const struct plan *plan, const struct plan_step *step, FILE *out)
{
	fprintf(out, "%s ", plan_kind_name(step->kind));
	switch (step->kind) {
	case PLAN_COPY:
	case PLAN_REDUCE:
		dump_targets(plan, step, out);
		fputs(" <- ", out);
		dump_sources(plan, step, out);
		fprintf(out, " %" PRIu64 " B%s%s", step->len, raw_names[step->raw], step->final ? " final" : "");
		if (step->kind == PLAN_REDUCE && step->peer != PLAN_ALL)
			fprintf(out, " by the factor of %" PRId32, step->peer);
		break;
	case PLAN_SEND_MSG:
		dump_sources(plan, step, out);
		fprintf(out, " %" PRIu64 " B to %" PRId32 " tag %" PRIu32, step->len, step->peer, step->tag);
		break;
	case PLAN_RECV_MSG:
		dump_ref(step->dst, out);
		fprintf(out, " %" PRIu64 " B from %" PRId32 " tag %" PRIu32, step->len, step->peer, step->tag);
		break;
	case PLAN_PUBLISH:
		fprintf(out, "phase %" PRIu32, step->phase);
		break;
	case PLAN_AWAIT:
		dump_peer(step->peer, out);
		fprintf(out, " phase %" PRIu32, step->phase);
		break;
	}
}

void plan_dump(const struct plan *plan, FILE *out)
{
	fprintf(out, "plan %s: %" PRIu32 " step%s, scratch %" PRIu64 " B, slot %" PRIu64 " B, phases %" PRIu32 "\n",
	        plan->algorithm ? plan->algorithm : "?", plan->n_steps, plural(plan->n_steps), plan->scratch_bytes,
	        plan->slot_bytes, plan->last_phase);
	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		fprintf(out, "%4" PRIu32 " ", i);
		dump_step(plan, step, out);
		for (uint32_t d = 0; d < step->n_deps; d++)
			fprintf(out, "%s%" PRIu32, d ? " " : " after ", plan->deps[step->dep_first + d]);
		fprintf(out, "  # %s\n", step->label ? step->label : "");
	}
}

/* Writes the steps as nodes PREFIXs0, PREFIXs1, ... and their deps as edges. */
static void dump_dot_steps(const struct plan *plan, const char *prefix, FILE *out)
{
	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		fprintf(out, "\t%ss%" PRIu32 " [fillcolor=%s label=\"%" PRIu32 " %s\\n", prefix, i,
		        kind_colours[step->kind], i, step->label ? step->label : "");
		dump_step(plan, step, out);
		fputs("\"];\n", out);
		for (uint32_t d = 0; d < step->n_deps; d++)
			fprintf(out, "\t%ss%" PRIu32 " -> %ss%" PRIu32 ";\n", prefix, plan->deps[step->dep_first + d],
			        prefix, i);
	}
}

static void dump_dot_head(const struct plan *plan, FILE *out)
{
	fprintf(out, "digraph \"%s\" {\n\trankdir=TB;\n\tnode [shape=box style=filled fontname=monospace];\n",
	        plan->algorithm ? plan->algorithm : "?");
}

void plan_dump_dot(const struct plan *plan, FILE *out)
{
	dump_dot_head(plan, out);
	dump_dot_steps(plan, "", out);
	fputs("}\n", out);
}

void plan_dump_dot_rank(const struct plan *plan, int rank, FILE *out)
{
	char prefix[16];

	snprintf(prefix, sizeof prefix, "r%d", rank);
	if (rank == 0)
		dump_dot_head(plan, out);
	fprintf(out, "\tsubgraph cluster_%s {\n\tlabel=\"rank %d\";\n", prefix, rank);
	dump_dot_steps(plan, prefix, out);
	fputs("\t}\n", out);
}
