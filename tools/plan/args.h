/* SPDX-License-Identifier: MIT */
#ifndef PLAN_ARGS_H
#define PLAN_ARGS_H

#include <choir/plan.h>
#include <stdbool.h>

enum { EXIT_FINE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };
enum { MOST_SIZES_OF_WORLD = 32 };

enum mode { MODE_PRINT, MODE_CHECK, MODE_PREDICT, MODE_COMPARE, MODE_LIST };

/* Flags that are read after flags_parse; NULL = not given. */
struct args_texts {
	const char *ranks, *bytes, *end, *dtype, *slot, *message, *order;
	bool check, predict, compare, list, dot;
};

struct args {
	struct args_texts texts;
	enum mode mode;
	choir_plan_options options; /* its texts are those of argv */
	choir_plan_costs costs;
	int rank;   /* or CHOIR_PLAN_ALL_RANKS */
	int format; /* of a plan */
	bool json, in_place, staged, shared;
	/* --compare */
	int ranks[MOST_SIZES_OF_WORLD], n_ranks;
	size_t end, factor;
};

/* args_read: an exit status, having said why on standard error; -1 to go on. */
int args_read(int argc, char **argv, struct args *out);

/* args_fail: the library's last error on standard error; the exit status for it. */
int args_fail(choir_status status);

#endif
