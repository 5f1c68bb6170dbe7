/* SPDX-License-Identifier: MIT */
/* Which device a rank gets. */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

#include "bench/args/args.h"

#include <choir/device.h>

/* place_device: the --devices entry of that local rank, dealt out in turn, else the library's choice.  An exit status;
 * the sentence said on standard error. */
int place_device(const struct args *args, int local_rank, choir_device **out_p);

/* place_devices: the same for n ranks of this process; they share a context if all are of one platform. */
int place_devices(const struct args *args, int n, choir_device **out);

#endif
