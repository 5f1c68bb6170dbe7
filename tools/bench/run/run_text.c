/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "bench/ranks/world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void run_read_text(struct run *run, struct args_sparse *what, struct sparse_text *text)
{
	bool failed = !sparse_text_read(what->text, text);
	int why = errno;

	if (failed && run->world->rank == 0)
		fprintf(stderr, "choir-bench: --text %s: %s\n", what->text,
		        why != 0 ? strerror(why) : "there is no word in it");
	if (world_max_int(run->world, failed) == 1)
		world_fail(run->world, EXIT_USAGE);
	what->range = text->distinct;
}
