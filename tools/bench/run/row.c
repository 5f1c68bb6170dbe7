/* SPDX-License-Identifier: MIT */
/* One job: choir by one algorithm or by all of them, and the other ways, a row of the table for each algorithm. */
#include "run.h"

#include "bench/cases/algorithms.h"
#include "bench/cases/job.h"
#include "bench/ways/ours.h"
#include "bench/ranks/watchdog.h"
#include "bench/ranks/world.h"

#include <stdio.h>
#include <string.h>

/* Those of the collective's algorithms that can do the job; *chosen_p = which of them the rules take. */
static int open_all(struct run *run, const struct job *job, struct contender *ours[OURS_MAX],
                    char chosen[ALGORITHMS_NAME_BYTES])
{
	struct algorithms all;
	struct contender *rules = ours[0];
	int n = 0;

	if (!algorithms_of(run->comm, job->what, run->args->algorithm, &all))
		world_fail(run->world, EXIT_WRONG);
	ours_fits(rules);
	snprintf(chosen, ALGORITHMS_NAME_BYTES, "%s", ours_algorithm(rules));
	for (int i = 0; i < all.n && n < OURS_MAX; i++) {
		ours[n] = ours_sibling(rules, all.name[i]);
		if (ours[n] == NULL)
			world_fail(run->world, EXIT_WRONG);
		if (ours_fits(ours[n]))
			n++;
		else
			ours[n]->close(ours[n]);
	}
	if (n == 0) {
		ours[0] = rules;
		return 1;
	}
	rules->close(rules);
	return n;
}

static void open_field(struct run *run, const struct job *job, struct run_field *field,
                       char chosen[ALGORITHMS_NAME_BYTES])
{
	const char *why_not[VS_MAX];

	watchdog_pat("preparing buffers");
	field->n_ours = 1;
	field->ours[0] = ours_open(job, args_forced(run->args));
	if (world_max_int(run->world, field->ours[0] == NULL) == 1) {
		if (run->world->rank == 0)
			fprintf(stderr, "choir-bench: no memory for %zu bytes\n", job->bytes);
		world_fail(run->world, EXIT_WRONG);
	}
	if (run->args->all_algorithms)
		field->n_ours = open_all(run, job, field->ours, chosen);
	vs_open(job, field->vs, why_not);
	run_note_vs(run, why_not, field->vs);
}

void run_row(struct run *run, const struct job *job)
{
	const struct args *args = run->args;
	const struct result like = { .collective = job->what->name,
		                     .bytes = job->bytes,
		                     .count = job->layout.count,
		                     .rule_bytes = job_rule_bytes(job),
		                     .dtype = choir_dtype_name(job->dtype),
		                     .op = job->what->reduces ? choir_op_name(job->op) : "none",
		                     .memory = args_memory_names[args->memory],
		                     .in_place = job->in_place,
		                     .fresh = args->fresh,
		                     .in_flight = args->in_flight };
	struct result rows[OURS_MAX];
	struct run_field field = { .n_ours = 0 };
	char chosen[ALGORITHMS_NAME_BYTES] = "";

	open_field(run, job, &field, chosen);
	for (int k = 0; k < field.n_ours; k++)
		rows[k] = like;
	run_measure(run, job, &field, job->bytes, job_bus_factor(job), rows);
	for (int k = 0; k < field.n_ours; k++) {
		double wire = (double)ours_wire_bytes(field.ours[k]);

		snprintf(rows[k].algorithm, sizeof rows[k].algorithm, "%s", ours_algorithm(field.ours[k]));
		rows[k].among_all = args->all_algorithms;
		rows[k].chosen = strcmp(rows[k].algorithm, chosen) == 0;
		world_max(run->world, &wire, 1);
		rows[k].wire_bytes = (uint64_t)wire;
		run_report(run, &rows[k]);
	}
	run_close(run, &field);
}
