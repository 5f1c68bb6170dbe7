/* SPDX-License-Identifier: MIT */
/* How fast commands move bytes between the host and a device whose memory is far. */
#ifndef DEV_RATES_H
#define DEV_RATES_H

#include <stdbool.h>
#include <stdint.h>

struct choir_device;

/* Latencies are those of a command of some bytes; 0 = not measured, also after an error or where time was up. */
struct device_rates {
	bool measured;
	double read_us, write_us;     /* from pinned memory, seen by clWaitForEvents */
	double read_GBps, write_GBps; /* pinned host memory */
	double pageable_read_GBps, pageable_write_GBps;
	double callback_us; /* from the end of a command, so seen, to its callback */
};

/* rates_measure: the shortest of so many tries each, none of which begins budget_ns after a first read and write, which
 * are not timed.  Blocks. */
void rates_measure(struct choir_device *device, int tries, int64_t budget_ns, struct device_rates *out);

/* rates_learn: measures or, of a device and driver of which the process has all figures, knows.  5 ms of tries at most,
 * beside what the driver does the first time.  Blocks. */
void rates_learn(struct choir_device *device, struct device_rates *out);

/* rates_short_map_bytes: of class map, the longest buffers of which a read and a write take less time than two maps and
 * unmaps; 0: none.  Blocks for 3 ms at the most. */
uint64_t rates_short_map_bytes(struct choir_device *device);

#endif
