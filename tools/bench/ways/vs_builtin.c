/* SPDX-License-Identifier: MIT */
/* --vs builtin: the same calls by the library's own sum, beside an operator of the benchmark's own (-o user_sum). */
#include "lib/values.h"
#include "twin.h"

static struct contender *open_builtin(const struct job *job)
{
	struct job builtin = *job;

	builtin.op = values_op(job->op);
	return twin_open(&builtin, "builtin", NULL);
}

static const char *unfit(const struct job *job)
{
	return !job->what->reduces || values_op(job->op) == job->op ? "there is no operator of a user's" : NULL;
}

const struct vs_way vs_builtin = {
	.name = "builtin", .about = "the same calls by the library's own sum", .unfit = unfit, .open = open_builtin
};
