/* SPDX-License-Identifier: MIT */
/* gnuplot at the end of a pipe. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "sweep.h"

#include <stdio.h>

/* plot_open: an SVG of that path, logarithmic both ways; NULL if there is no gnuplot.  plot_close: whether it was drawn. */
FILE *plot_open(const char *path, const char *x_label);
bool plot_close(FILE *gnuplot);

/* plot_sweep: times over density, with the crossing points. */
bool plot_sweep(const char *path, const struct sweep *sweep);

#endif
