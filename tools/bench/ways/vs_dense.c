/* SPDX-License-Identifier: MIT */
/* --vs dense is a way of doing sparse rows (sparse_dense.c); a dense collective has no other dense way. */
#include "contender.h"

#include <stddef.h>

static const char *never(const struct job *job)
{
	(void)job;
	return "it is dense already";
}

const struct vs_way vs_dense = { .name = "dense",
	                         .about = "sparse rows: a dense allreduce of the whole tensor",
	                         .unfit = never };
