/* SPDX-License-Identifier: MIT */
/* Counts the bytes that this process moves between the host and a device: the OpenCL calls that do are wrapped, so the
 * program is linked with ${bus_wrapped}. */
#ifndef TESTS_BUS_H
#define TESTS_BUS_H

#include <stdint.h>

/* Since the last bus_reset.  Memory that is mapped counts both ways. */
uint64_t bus_down(void);
uint64_t bus_up(void);
void bus_reset(void);

#endif
