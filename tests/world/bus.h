/* SPDX-License-Identifier: MIT */
/* Counts the commands and bytes that this process moves between the host and a device: the OpenCL calls that do are
 * wrapped, so the program is linked with ${bus_wrapped}. */
#ifndef TESTS_BUS_H
#define TESTS_BUS_H

#include <stdint.h>

struct bus_count {
	uint64_t commands, bytes;
};

/* Since the last bus_reset: commands that read or write a buffer. */
struct bus_count bus_reads(void);
struct bus_count bus_writes(void);

/* Bytes since then; memory that is mapped counts both ways. */
uint64_t bus_down(void);
uint64_t bus_up(void);
void bus_reset(void);

#endif
