/* SPDX-License-Identifier: MIT */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stddef.h>

enum via { VIA_CHOIR, VIA_MPI };

struct options {
	const char *text; /* NULL = WordNet */
	const char *via_name;
	enum via via;
	size_t local;   /* ranks as threads of this process; 0 = the ranks that mpiexec started */
	size_t steps;   /* 0 = no limit */
	double seconds; /* 0 = no limit */
	size_t batch, candidates, context, width, hidden;
	double rate, table_rate; /* learning rates of the dense layers and of the tables */
	size_t seed;
	size_t compare;       /* steps from one comparison of the sparse algorithms to the next; 0 = none */
	const char *compress; /* topk algorithm for the dense layers; NULL = their gradients go whole */
	double density;       /* of what it sends */
	double momentum;      /* of the dense layers' updates; with compress, of what is accumulated */
	size_t dense_steps;   /* with compress: the first so many steps send whole gradients */
	double every;         /* seconds between lines */
	const char *json, *plot, *loss_out;
};

/* options_parse: exits by itself: 0 for --help and --version, 2 for wrong usage. */
void options_parse(int argc, char **argv, struct options *out);

const char *options_via_name(enum via via);

#endif
