/* SPDX-License-Identifier: MIT */
/* What is run on every world: the same list of trials on every rank, in the same order. */
#ifndef TESTS_MATRIX_H
#define TESTS_MATRIX_H

#include "world/flight.h"

enum { MATRIX_OPTIONS = 32, MATRIX_OPTION_BYTES = 48 };

/* matrix_options: "algorithm=auto" and an option for each algorithm that the comm lists for a collective; returns how
 * many.  matrix_can_run: can the call's algorithm run on this layout?  matrix_methods_ran: the methods that GCL has for
 * this collective can on every layout; runs[i]: the algorithm of options[i] did. */
size_t matrix_options(choir_comm *comm, const char *collective, char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES]);
bool matrix_can_run(struct world *world, int rank, choir_comm *comm, const struct dense_call *call);
void matrix_methods_ran(struct world *world, int rank, const struct dense_call *call,
                        char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES], const bool *runs, size_t n);

/* matrix_sizes: every collective, every algorithm that can run here, over sizes (0, 1, below n, odd, several slots), in
 * place and not, host and cl_mem. */
void matrix_sizes(struct world *world, int rank, choir_comm *comm, void *quick);

/* matrix_types: every collective with every dtype and operator that is defined; with third, an int, one of three parts
 * of them, which together are all.
 * matrix_premultiplied: the premultiplied sum in every algorithm. */
void matrix_types(struct world *world, int rank, choir_comm *comm, void *third);
void matrix_premultiplied(struct world *world, int rank, choir_comm *comm, void *unused);

/* matrix_roots: rooted collectives with every root. */
void matrix_roots(struct world *world, int rank, choir_comm *comm, void *unused);

#endif
