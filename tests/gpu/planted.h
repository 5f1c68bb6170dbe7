/* SPDX-License-Identifier: MIT */
/* Faults that the model reports, each with its right twin: fault says which of the two. */
#ifndef GPU_PLANTED_H
#define GPU_PLANTED_H

#include "session.h"

#include <stdbool.h>

enum { BYTES = 1 << 20 };

static const char planted_source[] = "kernel void add(global int *to, global const int *from) {"
				     "to[get_global_id(0)] += from[get_global_id(0)]; }";

void svm_freed(struct session *s, bool fault);
void svm_blocks(struct session *s, bool fault);
void svm_argument(struct session *s, bool fault);

#endif
