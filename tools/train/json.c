/* SPDX-License-Identifier: MIT */
#include "compare.h"
#include "report.h"

#include "lib/outfile.h"

#include <string.h>

/* NULL: there is no memory. */
static json_t *summary(const struct report *report)
{
	const struct options *options = report->options;
	const struct span *whole = &report->whole;
	size_t n = whole->n_steps, tenth = n >= 10 ? n / 10 : n;
	json_t *losses = json_array();
	json_t *root;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(losses, json_real((double)report->losses[i]));
	root = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "choir",
	                 choir_version(), "tool", "choir-train", "via", options_via_name(options->via), "ranks",
	                 report->n_ranks, "device", report->device, "text", options->text ? options->text : "WordNet",
	                 "vocabulary", (json_int_t)report->n_vocabulary, "words", (json_int_t)report->n_examples,
	                 "batch", (json_int_t)options->batch, "candidates", (json_int_t)report->n_candidates, "context",
	                 (json_int_t)options->context, "width", (json_int_t)options->width, "hidden",
	                 (json_int_t)options->hidden, "seed", (json_int_t)options->seed, "steps", (json_int_t)n);
	if (!root) {
		json_decref(losses);
		return NULL;
	}
	json_object_update_new(
	    root,
	    json_pack("{s:f, s:f, s:f, s:f, s:f, s:{s:f, s:f, s:f}, s:{s:f, s:f}, s:o}", "lr", options->rate,
	              "table_lr", options->table_rate, "seconds", report_seconds(report), "words_per_s",
	              report_words_per_s(report), "loss", report_mean(report, n - tenth, tenth), "comm_s", "total",
	              whole->comm_s, "shown", whole->shown_s, "hidden", whole->comm_s - whole->shown_s, "rows_per_step",
	              "in", whole->rows_in / (double)n, "out", whole->rows_out / (double)n, "losses", losses));
	json_object_set_new(root, "dense_bytes_per_step", json_real(whole->received / (double)n));
	json_object_set_new(root, "momentum", json_real(options->momentum));
	if (options->compress) {
		json_object_set_new(root, "compress", json_string(options->compress));
		json_object_set_new(root, "density", json_real(options->density));
		json_object_set_new(root, "dense_steps", json_integer((json_int_t)options->dense_steps));
	}
	if (report->compare)
		json_object_set_new(root, "compare", compare_json(report->compare));
	return root;
}

choir_status report_files(struct report *report)
{
	const struct options *options = report->options;
	char error[OUTFILE_ERROR_BYTES];
	choir_status st = CHOIR_SUCCESS;
	json_t *root;

	if (report->loss_file != NULL) {
		bool written = ferror(report->loss_file) == 0;

		written &= fclose(report->loss_file) == 0;
		report->loss_file = NULL;
		if (!written)
			return failure(CHOIR_ARGUMENT, "%s cannot be written", options->loss_out);
	}
	if (!report->speaks || report->whole.n_steps == 0 || (!options->json && !options->plot))
		return CHOIR_SUCCESS;
	root = summary(report);
	if (!root)
		return fail_memory("the summary", report->whole.n_steps * 32);
	if (options->json && json_dump_file(root, options->json, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0)
		st = failure(CHOIR_ARGUMENT, "%s cannot be written", options->json);
	if (options->plot && !outfile_draw(options->plot, root, error))
		st = failure(CHOIR_UNSUPPORTED, "%s", error);
	json_decref(root);
	return st;
}
