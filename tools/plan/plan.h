/* SPDX-License-Identifier: MIT */
/* The modes of choir-plan that do more than print what the library gives.  Each returns an exit status. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "args.h"

int plan_predict(const struct args *args);
int plan_compare(const struct args *args);

/* plan_print_bytes: "64K" into text (at least 24 bytes); returns text. */
const char *plan_print_bytes(size_t bytes, char *text);

#endif
