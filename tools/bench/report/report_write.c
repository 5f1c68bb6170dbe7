/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "lib/outfile.h"
#include "bench/ranks/world.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that report_ready created, empty until they are written. */
static const char *created[3];

static void note_created(const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		created[i] = paths[i] != NULL && access(paths[i], F_OK) != 0 ? paths[i] : NULL;
}

void report_remove_empty(void)
{
	struct stat file;

	for (size_t i = 0; i < sizeof created / sizeof *created; i++)
		if (created[i] != NULL && stat(created[i], &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0)
			unlink(created[i]);
}

int report_ready(const struct args *args)
{
	const char *const paths[] = { args->json_path, args->plot_path, args->tune_path };
	char error[OUTFILE_ERROR_BYTES];

	note_created(paths, sizeof paths / sizeof *paths);
	if (outfile_ready(args->json_path, error) && outfile_ready_to_draw(args->plot_path, error) &&
	    outfile_ready(args->tune_path, error))
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: %s\n", error);
	return EXIT_USAGE;
}

int report_write(const struct args *args, const json_t *header, const struct results *results)
{
	char error[OUTFILE_ERROR_BYTES];
	int status = EXIT_FINE;
	json_t *all;

	if (args->json_path == NULL && args->plot_path == NULL)
		return EXIT_FINE;
	all = report_json_of(header, results);
	if (args->json_path != NULL && !report_json_write(args->json_path, all)) {
		fprintf(stderr, "choir-bench: %s cannot be written: %s\n", args->json_path, strerror(errno));
		status = EXIT_USAGE;
	}
	if (args->plot_path != NULL && !outfile_draw(args->plot_path, all, error)) {
		fprintf(stderr, "choir-bench: %s\n", error);
		status = EXIT_USAGE;
	}
	json_decref(all);
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
