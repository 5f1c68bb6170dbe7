/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "world.h"

#include <errno.h>
#include <string.h>

int report_write(const struct args *args, const json_t *header, const struct results *results)
{
	int status = EXIT_FINE;

	if (args->json_path != NULL) {
		json_t *all = report_json_of(header, results);

		if (!report_json_write(args->json_path, all)) {
			fprintf(stderr, "choir-bench: %s cannot be written: %s\n", args->json_path, strerror(errno));
			status = EXIT_USAGE;
		}
		json_decref(all);
	}
	if (args->plot_path != NULL && !report_plot(args->plot_path, results)) {
		fprintf(stderr, "choir-bench: %s was not drawn: is gnuplot installed?\n", args->plot_path);
		status = EXIT_USAGE;
	}
	return status;
}

int report_judge_speed(const struct args *args, const struct results *results)
{
	double best = 0;

	for (size_t i = 0; i < results->n; i++)
		best = results->rows[i].busbw_GBps > best ? results->rows[i].busbw_GBps : best;
	if (best >= args->min_busbw)
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: best busbw %.3f GB/s is below --min-busbw %g\n", best, args->min_busbw);
	return EXIT_SLOW;
}
