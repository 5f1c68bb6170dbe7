/* SPDX-License-Identifier: MIT */
/* Where the memory of --memory comes from; the symmetric kinds out of the run's comm. */
#ifndef BENCH_SYMMETRIC_H
#define BENCH_SYMMETRIC_H

#include "run.h"

struct memory_source symmetric_source(struct run *run);

#endif
