/* SPDX-License-Identifier: MIT */
/* The buffers of one job, filled with check data and looked at afterwards.
 *
 * A buffer is: `--offset` elements | data | 64 bytes, and everything that is not data holds a sentinel that must
 * stay. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "bench/cases/job.h"
#include "memory.h"

enum { CHECK_GUARD_BYTES = 64, CHECK_SENTINEL = 0xa5, CHECK_PAGE_BYTES = 4096 };

struct check_buffers {
	struct memory send, recv; /* in place: send only */
	unsigned char *scratch;   /* host copy of the larger */
	bool has_send, has_recv;
};

bool check_init(struct check_buffers *buffers, const struct job *job);
/* check_bytes: what check_init asks the job's source for, in whole pages each. */
size_t check_bytes(const struct job *job);
void check_fini(struct check_buffers *buffers);

choir_buffer check_send(const struct check_buffers *buffers, const struct job *job);
choir_buffer check_recv(const struct check_buffers *buffers, const struct job *job);

/* check_fill: inputs anew, outputs all sentinel.  false on an OpenCL error. */
bool check_fill(struct check_buffers *buffers, const struct job *job);

/* check_count: *wrong_p = elements of the output that are wrong, and of an input that was written into, plus one for
 * each broken sentinel. */
bool check_count(struct check_buffers *buffers, const struct job *job, uint64_t *wrong_p);

/* check_touch: the rank's program has written the input and read the output; host memory only. */
void check_touch(const struct check_buffers *buffers);

/* Shared with the host arrays of the --vs ways, and tested alone: the input of a rank, and the wrong elements of an
 * output, at plain pointers. */
void check_input(const struct job *job, void *send);
uint64_t check_output(const struct job *job, const void *recv);

#endif
