/* SPDX-License-Identifier: MIT */
#include "topk/algorithm.h"

#include "base/ascii.h"

#include <stdio.h>
#include <string.h>

const struct topk_algorithm topk_algorithms[] = {
	{ .name = "dense", .aliases = { "dense_allreduce" }, .start = topk_dense_start },
	{ .name = "topka",
	  .aliases = { "topk", "topk_sparse_allreduce" },
	  .select = topk_select_top,
	  .start = topk_lists_start,
	  .gathers = true,
	  .apart = true },
	{ .name = "topka2",
	  .aliases = { "topk2" },
	  .select = topk_select_top,
	  .start = topk_lists_start,
	  .apart = true,
	  .keeps_k = true,
	  .returns = true },
	{ .name = "topk-opt",
	  .aliases = { "topka-opt", "topkAopt" },
	  .select = topk_select_reuse,
	  .start = topk_lists_start,
	  .gathers = true,
	  .apart = true },
	{ .name = "gtopk",
	  .aliases = { "gtopk_sparse_allreduce" },
	  .density = 0.001,
	  .select = topk_select_top,
	  .start = topk_tree_start,
	  .fixed = true,
	  .pairwise = true,
	  .regroups = true },
	{ .name = "topk-sa",
	  .aliases = { "topkSA" },
	  .select = topk_select_top,
	  .start = topk_owners_start,
	  .pairwise = true },
	{ .name = "gaussiank",
	  .select = topk_select_gaussian,
	  .start = topk_lists_start,
	  .gathers = true,
	  .apart = true },
	{ .name = "gaussiank-concat",
	  .aliases = { "gaussiankconcat" },
	  .select = topk_select_gaussian,
	  .start = topk_lists_start,
	  .gathers = true },
	{ .name = "gaussiank-sa",
	  .aliases = { "gaussiankSA" },
	  .select = topk_select_gaussian,
	  .start = topk_owners_start,
	  .pairwise = true },
	{ .name = "oktopk",
	  .select = topk_select_adapt,
	  .start = topk_oktopk_start,
	  .pairwise = true,
	  .returns = true },
	{ .name = "spardl",
	  .select = topk_select_chunks,
	  .start = topk_spardl_start,
	  .chunked = true,
	  .pairwise = true,
	  .regroups = true },
};
const size_t n_topk_algorithms = sizeof topk_algorithms / sizeof *topk_algorithms;

static bool has_name(const struct topk_algorithm *algorithm, const char *name)
{
	if (ascii_equal(algorithm->name, name))
		return true;
	for (size_t i = 0; i < sizeof algorithm->aliases / sizeof *algorithm->aliases; i++)
		if (algorithm->aliases[i] != NULL && ascii_equal(algorithm->aliases[i], name))
			return true;
	return false;
}

const struct topk_algorithm *topk_algorithm_find(const char *name)
{
	for (size_t i = 0; i < n_topk_algorithms; i++)
		if (has_name(&topk_algorithms[i], name))
			return &topk_algorithms[i];
	return NULL;
}

topk_step topk_policy_select(const struct topk_algorithm *algorithm, choir_topk_threshold policy)
{
	static const topk_step ways[] = { [CHOIR_TOPK_THRESHOLD_EXACT] = topk_select_top,
		                          [CHOIR_TOPK_THRESHOLD_REUSE] = topk_select_adapt,
		                          [CHOIR_TOPK_THRESHOLD_GAUSSIAN] = topk_select_gaussian,
		                          [CHOIR_TOPK_THRESHOLD_SAMPLED] = topk_select_sampled };

	if (policy == CHOIR_TOPK_THRESHOLD_AUTO)
		return algorithm->select;
	return algorithm->select == NULL || algorithm->fixed || algorithm->chunked ? NULL : ways[policy];
}

const char *topk_algorithm_names(char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n_topk_algorithms && used < bytes; i++)
		used +=
		    (size_t)snprintf(text + used, bytes - used, "%s%s", i == 0 ? "" : ", ", topk_algorithms[i].name);
	return text;
}
