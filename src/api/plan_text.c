/* SPDX-License-Identifier: MIT */
/* Plans as text, as graphs and as JSON; what algorithms there are. */
#include "api/plan_case.h"

#include "base/error.h"
#include "plan/plan_graph.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *json_of_ref(struct plan_ref ref)
{
	json_t *object = json_pack("{s:s, s:I}", "buffer", plan_buf_name(ref.buf), "offset", (json_int_t)ref.off);

	if (ref.buf != PLAN_SEND && ref.buf != PLAN_RECV && ref.buf != PLAN_SCRATCH)
		json_object_set_new(object, "rank", json_integer(ref.peer));
	return object;
}

static json_t *json_of_step(const struct plan *plan, const struct plan_step *step)
{
	json_t *to = json_array(), *from = json_array(), *after = json_array();

	for (uint32_t k = 0; k < plan_step_targets(step); k++)
		json_array_append_new(to, json_of_ref(plan_step_target(plan, step, k)));
	for (uint32_t k = 0; k < step->n_src; k++)
		json_array_append_new(from, json_of_ref(plan->refs[step->src_first + k]));
	for (uint32_t d = 0; d < step->n_deps; d++)
		json_array_append_new(after, json_integer(plan->deps[step->dep_first + d]));
	return json_pack("{s:s, s:s, s:I, s:i, s:I, s:o, s:o, s:o}", "kind", plan_kind_name(step->kind), "label",
	                 step->label, "bytes", (json_int_t)step->len, "peer", (int)step->peer, "tag",
	                 (json_int_t)step->tag, "to", to, "from", from, "after", after);
}

static json_t *json_of_plan(const struct plan *plan, int rank)
{
	json_t *steps = json_array();

	for (uint32_t i = 0; i < plan->n_steps; i++)
		json_array_append_new(steps, json_of_step(plan, &plan->steps[i]));
	return json_pack("{s:i, s:I, s:o}", "rank", rank, "scratch_bytes", (json_int_t)plan->scratch_bytes, "steps",
	                 steps);
}

static choir_status print_json(const struct plan_case *c, const struct plan_case_team *t, int rank, FILE *out)
{
	json_t *plans = json_array(), *root;
	int bad;

	for (int r = 0; r < t->n; r++)
		if (rank == CHOIR_PLAN_ALL_RANKS || rank == r)
			json_array_append_new(plans, json_of_plan(&t->plans[r], r));
	root = json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:o}", "collective", c->options.collective, "algorithm",
	                 c->algorithm->name, "ranks", t->n, "nodes", c->layout.n_nodes, "bytes",
	                 (json_int_t)c->options.bytes, "slot_bytes", (json_int_t)c->options.slot_bytes, "plans", plans);
	bad = root == NULL || json_dumpf(root, out, JSON_INDENT(1)) != 0;
	json_decref(root);
	fputc('\n', out);
	return bad ? error_set(CHOIR_NO_MEMORY, "no memory for a plan's JSON") : CHOIR_SUCCESS;
}

static choir_status print_text(const struct plan_case *c, const struct plan_case_team *t, int rank, FILE *out)
{
	(void)c;
	for (int r = 0; r < t->n; r++) {
		if (rank != CHOIR_PLAN_ALL_RANKS && rank != r)
			continue;
		fprintf(out, "%srank %d: ", rank != r && r > 0 ? "\n" : "", r);
		plan_dump(&t->plans[r], out);
	}
	return CHOIR_SUCCESS;
}

static choir_status print_dot(const struct plan_case *c, const struct plan_case_team *t, int rank, FILE *out)
{
	(void)c;
	if (rank == CHOIR_PLAN_ALL_RANKS)
		return plan_graph_dump_dot(&t->team, out);
	plan_dump_dot(&t->plans[rank], out);
	return CHOIR_SUCCESS;
}

static choir_status (*const printers[])(const struct plan_case *, const struct plan_case_team *, int, FILE *) = {
	[CHOIR_PLAN_TEXT] = print_text,
	[CHOIR_PLAN_DOT] = print_dot,
	[CHOIR_PLAN_JSON] = print_json,
};

static choir_status print(const struct plan_case *c, int rank, int format, char **text_p)
{
	struct plan_case_team team;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	choir_status st;

	if (out == NULL)
		return error_no_memory("a plan's text", 1);
	st = plan_case_team_init(c, rank, UINT64_MAX, &team);
	if (st == CHOIR_SUCCESS)
		st = printers[format](c, &team, rank, out);
	plan_case_team_fini(&team);
	if (fclose(out) != 0 && st == CHOIR_SUCCESS)
		st = error_no_memory("a plan's text", bytes);
	if (st == CHOIR_SUCCESS)
		*text_p = text;
	else
		free(text);
	return st;
}

choir_status choir_plan_text(const choir_plan_options *options, int rank, int format, char **text_p)
{
	struct plan_case c;
	choir_status st;

	if (text_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_plan_text: null argument");
	if (format < 0 || (size_t)format >= sizeof printers / sizeof *printers)
		return error_set(CHOIR_ARGUMENT, "choir_plan_text: no format has number %d", format);
	TRY(plan_case_init("choir_plan_text", options, &c));
	if (rank < CHOIR_PLAN_ALL_RANKS || rank >= c.options.ranks)
		st = error_set(CHOIR_ARGUMENT, "choir_plan_text: rank %d of %d", rank, c.options.ranks);
	else
		st = plan_case_choose("choir_plan_text", &c);
	if (st == CHOIR_SUCCESS)
		st = print(&c, rank, format, text_p);
	plan_case_fini(&c);
	return st;
}

choir_status choir_plan_algorithms(const choir_plan_options *options, char **text_p)
{
	struct plan_case c;
	struct algo_in in;
	const struct algorithm *chosen;
	json_t *list;
	char *text;

	if (text_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_plan_algorithms: null argument");
	TRY(plan_case_init("choir_plan_algorithms", options, &c));
	list = json_array();
	in = plan_case_in(&c, 0);
	chosen = rules_choose(&c.rules, &in);
	for (size_t i = 0; i < n_algorithms; i++) {
		const struct algorithm *a = &algorithms[i];

		if (a->collective == in.collective)
			json_array_append_new(list,
			                      json_pack("{s:s, s:s, s:s?, s:b}", "name", a->name, "about", a->about,
			                                "unfit", algo_unfit(a, &in), "chosen", a == chosen));
	}
	plan_case_fini(&c);
	text = json_dumps(list, JSON_INDENT(1));
	json_decref(list);
	if (text == NULL)
		return error_set(CHOIR_NO_MEMORY, "choir_plan_algorithms: no memory for the text");
	*text_p = text;
	return CHOIR_SUCCESS;
}
