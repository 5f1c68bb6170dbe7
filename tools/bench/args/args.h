/* SPDX-License-Identifier: MIT */
/* The command line of choir-bench.  docs/bench.md explains every flag. */
#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

#include <choir/types.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	ARGS_MAX_LIST = 32,
	ARGS_ERROR_BYTES = 256,
};

enum args_memory { MEMORY_DEVICE, MEMORY_HOST, MEMORY_SYMMETRIC, MEMORY_SYMMETRIC_DEVICE, N_ARGS_MEMORY };
extern const char *const args_memory_names[N_ARGS_MEMORY];

/* How sparse indices are drawn. */
enum args_ids { IDS_ZIPF, IDS_UNIFORM, IDS_CLUSTERED, IDS_TEXT, N_ARGS_IDS };
extern const char *const args_ids_names[N_ARGS_IDS];

struct args_sparse {
	/* rows: of a rank, on average; of the row at hand where --rows or --density lists several */
	size_t rows, width, range;
	enum args_ids ids;
	double zipf;    /* exponent */
	double overlap; /* share of the rows whose indices all ranks have */
	bool permuted;  /* frequent indices stand anywhere, not first */
	/* the first rank sends ten times the rows of the others, the last none; together as many as without */
	bool hot, empty;
	bool heavy_tailed;  /* kernels that select: values far from normal */
	const char *text;   /* of IDS_TEXT: a file, or WordNet's folder */
	const char *values; /* topk: "normal", "heavy", or the path of a file */
	const char *result; /* topk: "dense", "pairs" or "both" */
	size_t lists;       /* kernels: sources of merge and reduce */
	choir_dtype index_dtype;
};

/* Flags as they stand on the command line, for args_parse alone; NULL = not given. */
struct args_texts {
	const char *begin, *end, *factor, *step, *type, *op, *memory, *algorithm, *offset, *json, *plot, *compare,
	    *fail_over, *devices, *vs;
	const char *tune, *trainer, *tensors, *tensors_of;
	const char *rows, *width, *range, *density, *zipf, *index, *overlap, *text, *lists, *values, *result;
	bool uniform, clustered, permuted, hot, empty, heavy_tailed;
};

enum { ARGS_USER_SUM = -1, ARGS_USER_SUM_TEXT = -2 }; /* of ops, until user_sum_create */

struct args {
	const char *collectives[ARGS_MAX_LIST];
	int n_collectives;
	size_t begin, end, step; /* bytes; step 0 = multiply by factor */
	double factor;
	int iterations, warmup, check_every;
	choir_dtype dtypes[ARGS_MAX_LIST];
	int n_dtypes;
	choir_op ops[ARGS_MAX_LIST];
	int n_ops;
	bool all_ops, all_dtypes; /* combinations that do not exist are skipped without a word */
	int root;
	enum args_memory memory;
	bool in_place, fresh;
	const char *algorithm; /* NULL = rules decide */
	bool all_algorithms;
	size_t offset; /* elements before the data in every buffer */
	int in_flight;
	double timeout_s;
	bool csv;
	const char *json_path, *plot_path; /* NULL = none; json "-" = standard output */
	double min_busbw;
	const char *tensors;      /* --tensors; NULL = none */
	const char *tensors_of;   /* the collective of them */
	const char *trainer_path; /* NULL = none */
	double compute_ms;        /* overlap, trainer; 0 = as long as the collective, as the file says */
	bool tune;
	const char *tune_path;                 /* NULL = standard output */
	const char *compare_old, *compare_new; /* both or neither */
	double fail_over;
	int local;                          /* ranks as threads; 0 = the processes of MPI */
	const char *devices[ARGS_MAX_LIST]; /* "P:D" or "P:D.S", dealt out in turn */
	int n_devices;
	const char *vs[ARGS_MAX_LIST];
	int n_vs;
	struct args_sparse sparse;
	size_t rows[ARGS_MAX_LIST]; /* of sparse rows and kernels: each is a row of the table */
	int n_rows;
	bool told; /* --help or --version was asked for and has been printed: there is nothing to run */
	struct args_texts texts;
	char **line; /* a copy of argv, into which the texts lead */
};

/* args_parse: reads argv, which stays as it is.  On failure a sentence is in error and args need no fini.  Asks nothing
 * of OpenCL or MPI. */
bool args_parse(int argc, const char **argv, struct args *args, char error[ARGS_ERROR_BYTES]);
void args_fini(struct args *args);

/* args_forced: the one algorithm that is asked for, NULL if the rules decide or all are. */
const char *args_forced(const struct args *args);

#endif
