/* SPDX-License-Identifier: MIT */
/* What is run on every world: the same list of trials on every rank, in the same order. */
#ifndef TESTS_MATRIX_H
#define TESTS_MATRIX_H

#include "world/flight.h"

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
