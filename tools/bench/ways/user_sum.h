/* SPDX-License-Identifier: MIT */
/* The sum as an operator of the caller's own, to be compared with the library's. */
#ifndef WAYS_USER_SUM_H
#define WAYS_USER_SUM_H

#include "bench/args/args.h"

/* user_sum_create: puts operators in place of ARGS_USER_SUM, a function of the host, and ARGS_USER_SUM_TEXT, a text;
 * false: choir_last_error says why not.  user_sum_destroy: those of user_sum_create. */
bool user_sum_create(struct args *args);
void user_sum_destroy(const struct args *args);

#endif
