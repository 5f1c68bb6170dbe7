/* SPDX-License-Identifier: MIT */
/* Information for tools: a comm and the rules in force, as JSON, and whether a call is supported. */
#include "api/dense.h"
#include "api/dense_plan.h"
#include "api/topk_config.h"

#include "base/config.h"
#include "sparse/algorithm.h"
#include "sparse/sparse.h"

#include <float.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *algorithm_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n_algorithms; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "collective",
		                                      collective_name(algorithms[i].collective), "name",
		                                      algorithms[i].name, "about", algorithms[i].about));
	for (int i = 0; i < n_sparse_methods; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "collective", "sparse_allreduce", "name",
		                                      sparse_methods[i].name, "about", sparse_methods[i].about));
	return list;
}

/* "costs:" of the rules in force: {"network": {"alpha": ...}}. */
static json_t *cost_table(const struct link_costs *costs)
{
	json_t *table = json_object();

	for (int link = 0; link < N_LINKS; link++) {
		json_t *row = json_object();

		for (int term = 0; term < N_COSTS; term++)
			json_object_set_new(row, link_costs_terms[term], json_real(costs->ns[link][term]));
		json_object_set_new(table, link_costs_links[link], row);
	}
	return table;
}

/* A text that is no UTF-8, which JSON cannot hold, has question marks in place of all but ASCII. */
static json_t *text_of(const char *text)
{
	json_t *as_it_is = text != NULL ? json_string(text) : json_null(), *ascii = NULL;
	char *copy;

	if (as_it_is != NULL || (copy = strdup(text)) == NULL)
		return as_it_is;
	for (char *at = copy; *at != '\0'; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	ascii = json_string(copy);
	free(copy);
	return ascii;
}

static json_t *environment_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n_config_variables; i++) {
		const char *name = config_variables[i].name, *value = config_text(name);

		if (value != NULL && strcmp(name, "CHOIR_SECRET") == 0)
			value = "(set)"; /* what is printed ends in logs */

		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", config_variables[i].name, "about",
		                                      config_variables[i].about, "value", text_of(value)));
	}
	return list;
}

static choir_status print(const choir_comm *comm, char **text_p)
{
	json_t *root, *nodes;
	char *text;

	TRY(call_check_comm("choir_comm_json", (choir_comm *)comm));
	if (text_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_comm_json: null argument");
	nodes = json_array();
	for (int g = 0; g < comm->layout.n_nodes; g++)
		json_array_append_new(nodes, json_integer(comm->layout.node_size[g]));
	root = json_pack(
	    "{s:s, s:i, s:i, s:i, s:o, s:s*, s:s, s:I, s:I, s:i, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "choir",
	    choir_version(), "rank", comm->rank, "ranks", comm->n, "nodes", comm->layout.n_nodes, "node_sizes", nodes,
	    "nodes_because", comm->apart[0] != '\0' ? comm->apart : NULL, "transport", messenger_name(comm->messenger),
	    "slot_bytes", (json_int_t)comm->slot_bytes, "message_bytes", (json_int_t)comm->message_bytes, "lanes",
	    (int)COMM_LANES, "deadline_ms", (json_int_t)comm->deadline_ms, "warn_ms", (json_int_t)comm->warn_ms,
	    "order_ranks", (int)comm->order_ranks, "rules", text_of(comm->rules.text), "sparse_costs",
	    cost_table(&comm->rules.costs), "algorithms", algorithm_list(), "environment", environment_list());
	text = root != NULL ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(FLT_DIG)) : NULL;
	json_decref(root);
	if (text == NULL)
		return error_set(CHOIR_NO_MEMORY, "choir_comm_json: no memory for the text");
	*text_p = text;
	return CHOIR_SUCCESS;
}

choir_status choir_comm_json(const choir_comm *comm, char **text_p)
{
	choir_status st;

	TRY(call_enter("choir_comm_json", (choir_comm *)comm));
	st = print(comm, text_p);
	comm_leave((choir_comm *)comm);
	return st;
}

static choir_status values_possible(const choir_comm *comm, enum collective which, choir_dtype dtype, choir_op op)
{
	if (which == COLLECTIVE_SPARSE_ALLREDUCE)
		return sparse_values_possible(comm->device, dtype, op);
	if (which == COLLECTIVE_TOPK_ALLREDUCE)
		return topk_config_types("choir_supports", dtype, op);
	if (!collective_has(which, TRAIT_REDUCES))
		return CHOIR_SUCCESS;
	TRY(reduce_possible(comm->device, dtype, op));
	return dense_op_fits("choir_supports", which, op);
}

/* Options of the comm may name an algorithm or an order that its ranks cannot have: a call of one element tells. */
static choir_status options_possible(choir_comm *comm, enum collective which, choir_dtype dtype, choir_op op)
{
	struct dense d = {
		.call = "choir_supports", .collective = which, .comm = comm, .count = 1, .dtype = dtype, .op = op
	};
	bool reduces = collective_has(which, TRAIT_REDUCES);
	const choir_call none = CHOIR_CALL_INIT;
	struct user_op *user = NULL;
	const struct algorithm *algorithm;
	struct algo_in in;
	choir_status st;

	if (comm->options == NULL || which == COLLECTIVE_SPARSE_ALLREDUCE || which == COLLECTIVE_TOPK_ALLREDUCE ||
	    (reduces && op == CHOIR_OP_LOCAL))
		return CHOIR_SUCCESS;
	if (reduces && user_op_is(op))
		TRY(user_op_find(d.call, op, &user));
	d.user = user;
	st = dense_plan_foresee(&d, &none, false, &in, &algorithm);
	user_op_release(user);
	return st == CHOIR_SUCCESS ? st : CHOIR_UNSUPPORTED;
}

static choir_status is_possible(choir_comm *comm, const char *collective, choir_dtype dtype, choir_op op,
                                choir_buffer buffer)
{
	enum collective which;
	bool padded; /* not looked at: a padded form can do what its collective can */

	TRY(call_check_comm("choir_supports", comm));
	if (collective == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_supports: null argument");
	TRY(collective_parse_form(strcmp(collective, "sendrecv") == 0 ? "send" : collective, &which, &padded));
	if (which == COLLECTIVE_BARRIER)
		return CHOIR_SUCCESS;
	if (choir_dtype_bytes(dtype) == 0)
		return error_set(CHOIR_UNSUPPORTED, "choir_supports: no data type has number %d", (int)dtype);
	TRY(values_possible(comm, which, dtype, op));
	TRY(options_possible(comm, which, dtype, op));
	return buffer.kind == CHOIR_BUFFER_NONE
	           ? CHOIR_SUCCESS
	           : dev_range(comm->device, "buffer", buffer, choir_dtype_bytes(dtype), choir_dtype_bytes(dtype));
}

choir_status choir_supports(choir_comm *comm, const char *collective, choir_dtype dtype, choir_op op,
                            choir_buffer buffer)
{
	choir_status st;

	TRY(call_enter("choir_supports", comm));
	st = is_possible(comm, collective, dtype, op, buffer);
	comm_leave(comm);
	return st;
}
