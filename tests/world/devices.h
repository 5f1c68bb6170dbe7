/* SPDX-License-Identifier: MIT */
/* Devices of one context, of class stage, for ranks of one process: all devices of the platform, or the halves of its
 * only one. */
#ifndef TESTS_DEVICES_H
#define TESTS_DEVICES_H

#include "world/world.h"

/* The fixtures of a group of tests.  The last one drops the world's devices too. */
int devices_open(void **state);
int devices_close(void **state);

/* devices_begin: a world of n ranks on them by turns, with device_bytes of device memory; 0 = as many as the library
 * takes.  world_end ends it. */
void devices_begin(struct world *world, int n, uint64_t device_bytes);

/* devices_begin_measured: the same, with the choices that programs get: by what was measured of the devices. */
void devices_begin_measured(struct world *world, int n);

#endif
