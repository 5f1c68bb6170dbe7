/* SPDX-License-Identifier: MIT */
/* Devices of one context, of class stage, for ranks of one process: all devices of the platform, or the halves of its
 * only one. */
#ifndef TESTS_DEVICES_H
#define TESTS_DEVICES_H

#include "world/world.h"

void devices_open(void);
void devices_close(void);

/* devices_begin: a world of n ranks on them by turns, with device_bytes of device memory; 0 = as many as the library
 * takes.  world_end ends it. */
void devices_begin(struct world *world, int n, uint64_t device_bytes);

#endif
