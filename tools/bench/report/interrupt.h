/* SPDX-License-Identifier: MIT */
/* Ctrl-C ends the program with status 130, but what was measured until then is written as at the end. */
#ifndef BENCH_INTERRUPT_H
#define BENCH_INTERRUPT_H

#include "bench/args/args.h"
#include "result.h"

#include <jansson.h>

struct world;

enum { EXIT_INTERRUPTED = 130 };

/* interrupt_watch: from now on a thread takes SIGINT.  Before any other thread is made. */
void interrupt_watch(void);

/* interrupt_keep: rank 0's results are to be written, with that header.  The pointers must stay valid until
 * interrupt_done: from then on Ctrl-C only ends the program. */
void interrupt_keep(const struct args *args, struct world *world, json_t *header, const struct results *results);
void interrupt_done(void);

/* interrupt_add: results_add, not while they are being written. */
void interrupt_add(struct results *results, const struct result *row);

#endif
