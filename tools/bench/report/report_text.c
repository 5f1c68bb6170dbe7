/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "lib/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

void report_text_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("# ", stdout);
	vprintf(format, args);
	fputc('\n', stdout);
	va_end(args);
	fflush(stdout);
}

void report_text_total(const struct results *results)
{
	report_text_note("%zu row%s, no wrong data", results->n, number_plural(results->n));
}

/* "rank 0 and the like" would hide a mixed world: every device that differs from rank 0's gets a line. */
static void print_devices(const json_t *header)
{
	const json_t *devices = json_object_get(header, "devices");
	size_t rank;
	json_t *device;

	printf("# device   %s, %s, class %s\n", text_in(header, "device"), text_in(header, "driver"),
	       text_in(header, "buffer_class"));
	json_array_foreach(devices, rank, device) if (!json_equal(device, json_array_get(devices, 0)))
	    printf("# rank %zu   %s\n", rank, json_string_value(device));
}

void report_text_header(const json_t *header)
{
	const json_t *mpi = json_object_get(header, "mpi"), *variables = json_object_get(header, "environment");
	const json_t *layout = json_object_get(header, "node_layout");
	json_int_t ranks = json_integer_value(json_object_get(header, "ranks"));
	json_t *value;
	const char *name;
	size_t rank;

	printf("# choir    %s, %" JSON_INTEGER_FORMAT " rank%s, nodes of the ranks:", text_in(header, "choir"), ranks,
	       number_plural(ranks));
	json_array_foreach(layout, rank, value) printf(" %" JSON_INTEGER_FORMAT, json_integer_value(value));
	fputc('\n', stdout);
	print_devices(header);
	if (json_is_object(mpi))
		printf("# MPI      %s, %s\n", text_in(mpi, "library"), text_in(mpi, "thread_level"));
	else
		printf("# MPI      none: the ranks are threads\n");
	json_object_foreach((json_t *)variables, name, value)
	    printf("# variable %s=%s\n", name, json_string_value(value));
	printf("# time is the slowest rank's, in us; sizes with K = 1024; GB/s with G = 10^9; ratio = their p50 / "
	       "ours, above 1 choir wins\n");
	fflush(stdout);
}

void report_text_columns(const struct args *args, const char *collective, enum result_kind kind)
{
	printf("#\n# %s, %s memory%s\n", collective, args_memory_names[args->memory],
	       args->in_place ? ", in place" : "");
	printf("#%11s %12s %5s %11s %-16s %10s %10s %10s %9s %9s %6s", "bytes", "count", "type", "redop", "algorithm",
	       "p50", "p99", "first", "algbw", "busbw", "wrong");
	for (int i = 0; i < args->n_vs; i++)
		printf(" %10s %7s", args->vs[i], "ratio");
	if (kind == RESULT_OVERLAP)
		printf(" %10s %7s", "exposed", "hidden");
	if (kind == RESULT_SPARSE)
		printf(" %10s %10s %8s %8s %10s %10s %6s", "rows in", "rows out", "dens in", "dens out", "wire",
		       "predicted", "imbal");
	if (kind == RESULT_KERNEL)
		printf(" %10s %10s %10s %9s", "range", "items", "out", "M/s");
	if (kind == RESULT_TOPK)
		printf(" %8s %8s %9s %9s %9s %9s %10s %10s %9s %9s %6s", "dens in", "dens out", "select", "exchange",
		       "merge", "update", "words", "formula", "local", "global", "imbal");
	fputc('\n', stdout);
}

/* What topk has beside the times. */
static void print_topk(const struct result_topk *topk)
{
	printf(" %8.5f %8.5f %9.1f %9.1f %9.1f %9.1f %10.0f %10.0f %9.3g %9.3g %6.3f", topk->density_in,
	       topk->density_out, topk->select_us, topk->exchange_us, topk->merge_us, topk->update_us, topk->words,
	       topk->formula, topk->local, topk->global, topk->imbalance);
}

void report_text_row(const struct args *args, const struct result *row)
{
	char algorithm[sizeof row->algorithm + 1];

	snprintf(algorithm, sizeof algorithm, "%s%s", row->algorithm[0] != '\0' ? row->algorithm : "-",
	         row->chosen ? "*" : "");
	printf(" %11zu %12zu %5s %11s %-16s %10.2f %10.2f %10.1f %9.3f %9.3f ", row->bytes, row->count, row->dtype,
	       row->op, algorithm, row->us.p50, row->us.p99, row->first_us, row->algbw_GBps, row->busbw_GBps);
	if (args->check_every > 0)
		printf("%6" PRIu64, row->wrong);
	else
		printf("%6s", "-");
	for (int i = 0; i < row->n_vs; i++) {
		if (row->vs[i].ran)
			printf(" %10.2f %7.2f", row->vs[i].p50_us, row->vs[i].ratio);
		else
			printf(" %10s %7s", "-", "-");
	}
	if (row->kind == RESULT_OVERLAP)
		printf(" %10.1f %7.2f", row->overlap.exposed_us, row->overlap.hidden);
	if (row->kind == RESULT_SPARSE)
		printf(" %10zu %10zu %8.4f %8.4f %10" PRIu64 " %10.1f %6.3f", row->sparse.rows_in, row->sparse.rows_out,
		       row->sparse.density_in, row->sparse.density_out, row->wire_bytes, row->sparse.predicted_us,
		       row->sparse.imbalance);
	if (row->kind == RESULT_KERNEL)
		printf(" %10zu %10zu %10zu %9.2f", row->kernel.range, row->kernel.items, row->kernel.items_out,
		       row->kernel.items_per_s * 1e-6);
	if (row->kind == RESULT_TOPK)
		print_topk(&row->topk);
	fputc('\n', stdout);
	fflush(stdout);
}
