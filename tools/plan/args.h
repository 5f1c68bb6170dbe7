/* SPDX-License-Identifier: MIT */
#ifndef PLAN_ARGS_H
#define PLAN_ARGS_H

#include <choir/plan.h>
#include <popt.h>

enum { EXIT_FINE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };
enum { MOST_SIZES_OF_WORLD = 32 };

enum mode { MODE_PRINT, MODE_CHECK, MODE_PREDICT, MODE_COMPARE, MODE_LIST };

/* What popt fills: texts that are read afterwards. */
struct args_texts {
	char *ranks, *bytes, *end, *dtype, *slot, *message, *algorithm, *rules;
	int factor, all, check, predict, compare, list, dot, help, version;
};

struct args {
	poptContext context;
	struct args_texts texts;
	enum mode mode;
	choir_plan_options options; /* its texts are the context's and those above */
	choir_plan_costs costs;
	int rank;                   /* or CHOIR_PLAN_ALL_RANKS */
	int format;                 /* of a plan */
	int json;
	/* --compare */
	int ranks[MOST_SIZES_OF_WORLD], n_ranks;
	size_t end, factor;
};

/* args_read: an exit status, having said why on standard error; -1 to go on.  args_fini after it in any case. */
int args_read(int argc, const char **argv, struct args *out);
void args_fini(struct args *args);

/* args_fail: the library's last error on standard error; the exit status for it. */
int args_fail(choir_status status);

#endif
