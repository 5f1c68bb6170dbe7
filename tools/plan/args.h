/* SPDX-License-Identifier: MIT */
#ifndef PLAN_ARGS_H
#define PLAN_ARGS_H

#include <choir/plan.h>

enum { EXIT_FINE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };
enum { MOST_SIZES_OF_WORLD = 32 };

enum mode { MODE_PRINT, MODE_CHECK, MODE_PREDICT, MODE_COMPARE, MODE_LIST };

struct args {
	enum mode mode;
	choir_plan_options options; /* its texts are the command line's */
	choir_plan_costs costs;
	int rank;                   /* or CHOIR_PLAN_ALL_RANKS */
	int format;                 /* of a plan */
	int json;
	/* --compare */
	int ranks[MOST_SIZES_OF_WORLD], n_ranks;
	size_t end, factor;
};

/* args_read: an exit status, having said why on standard error; -1 to go on. */
int args_read(int argc, const char **argv, struct args *out);

/* args_fail: the library's last error on standard error; the exit status for it. */
int args_fail(choir_status status);

#endif
