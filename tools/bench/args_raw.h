/* SPDX-License-Identifier: MIT */
/* What popt makes of the command line: texts and plain numbers. */
#ifndef BENCH_ARGS_RAW_H
#define BENCH_ARGS_RAW_H

#include "args.h"

#include <popt.h>

enum { OPTION_ZIPF = 1, OPTION_TUNE, N_OPTION_CODES, MAX_OPTIONS = 64 };

struct args_raw {
	poptContext context; /* owns the collectives' names */
	struct poptOption table[MAX_OPTIONS];
	char *begin, *end, *factor, *step, *type, *op, *memory, *algorithm, *offset, *json, *plot, *compare, *fail_over, *devices, *vs;
	char *tune, *trainer, *tensors;
	char *rows, *width, *range, *density, *zipf, *index, *overlap, *text, *lists;
	bool given[N_OPTION_CODES]; /* options whose presence matters */
	double min_busbw, timeout_s, compute_ms;
	int iterations, warmup, check_every, root, in_flight, local;
	int in_place, fresh, csv, uniform, clustered, permuted, hot, empty, heavy_tailed, help, version;
};

/* args_raw_open: popt's context for that line; raw holds its table. */
poptContext args_raw_open(struct args_raw *raw, int argc, const char **argv);
void args_raw_free(struct args_raw *raw);

#endif
