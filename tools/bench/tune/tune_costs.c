/* SPDX-License-Identifier: MIT */
/* Least squares.  A row's time is what all algorithms of its job have in common (coalescing, delivery: unknown, one a
 * job) and its terms times the constants.  Errors count as shares of the row's time.  Rows of few jobs leave some
 * direction open: there the constants stay near what they were (ridge regression towards the old ones), and none falls
 * below a twentieth or rises above twenty times of it. */
#include "tune_costs.h"

#include <jansson.h>
#include <string.h>

#define HOLD       0.002 /* what a constant's being twice the old one counts, in squared shares of one row's time */
#define MOST_TIMES 20.0
#define ROUNDS     20000

const char *const tune_cost_names[SPARSE_TERMS] = { "alpha", "beta", "sigma", "merge", "fold" };

/* a u = b for u = new / old. */
struct system {
	double a[SPARSE_TERMS][SPARSE_TERMS], b[SPARSE_TERMS];
};

static bool is_of(const struct result *row, const char *link)
{
	return row->kind == RESULT_SPARSE && row->us.p50 > 0 && row->sparse.link != NULL &&
	       strcmp(row->sparse.link, link) == 0;
}

static bool same_job(const struct result *x, const struct result *y)
{
	return x->bytes == y->bytes && x->sparse.width == y->sparse.width && x->sparse.range == y->sparse.range &&
	       strcmp(x->memory, y->memory) == 0;
}

/* Rows first .. end-1 are of one job. */
static void add_job(struct system *system, const struct results *results, const char *link,
                    const double before[SPARSE_TERMS], size_t first, size_t end)
{
	double weights = 0, mean_time = 0, mean[SPARSE_TERMS] = { 0 };

	for (size_t i = first; i < end; i++) {
		const struct result *row = &results->rows[i];
		double ns = 1000 * row->us.p50, weight = 1 / (ns * ns);

		if (!is_of(row, link))
			continue;
		weights += weight;
		mean_time += weight * ns;
		for (int t = 0; t < SPARSE_TERMS; t++)
			mean[t] += weight * row->sparse.terms[t] * before[t];
	}
	for (size_t i = first; i < end; i++) {
		const struct result *row = &results->rows[i];
		double ns = 1000 * row->us.p50, weight = 1 / (ns * ns), x[SPARSE_TERMS];

		if (!is_of(row, link))
			continue;
		for (int t = 0; t < SPARSE_TERMS; t++)
			x[t] = row->sparse.terms[t] * before[t] - mean[t] / weights;
		for (int t = 0; t < SPARSE_TERMS; t++) {
			system->b[t] += weight * x[t] * (ns - mean_time / weights);
			for (int s = 0; s < SPARSE_TERMS; s++)
				system->a[t][s] += weight * x[t] * x[s];
		}
	}
}

/* Gauss and Seidel's steps, each kept within bounds: for so few unknowns the simplest that knows them. */
static void solve(const struct system *system, double u[SPARSE_TERMS])
{
	for (int t = 0; t < SPARSE_TERMS; t++)
		u[t] = 1;
	for (int round = 0; round < ROUNDS; round++)
		for (int t = 0; t < SPARSE_TERMS; t++) {
			double rest = system->b[t];

			for (int s = 0; s < SPARSE_TERMS; s++)
				rest -= s == t ? 0 : system->a[t][s] * u[s];
			u[t] = rest / system->a[t][t];
			u[t] = u[t] < 1 / MOST_TIMES ? 1 / MOST_TIMES : u[t] > MOST_TIMES ? MOST_TIMES : u[t];
		}
}

void tune_costs_fit(const struct results *results, const char *link, const double before[SPARSE_TERMS],
                    double ns[SPARSE_TERMS])
{
	struct system system = { 0 };
	double u[SPARSE_TERMS];

	for (size_t i = 0, end; i < results->n; i = end) {
		for (end = i + 1; end < results->n && same_job(&results->rows[i], &results->rows[end]);)
			end++;
		add_job(&system, results, link, before, i, end);
	}
	for (int t = 0; t < SPARSE_TERMS; t++) {
		system.a[t][t] += HOLD;
		system.b[t] += HOLD;
	}
	solve(&system, u);
	for (int t = 0; t < SPARSE_TERMS; t++)
		ns[t] = u[t] * before[t];
}

static void write_link(FILE *to, const struct results *results, const char *link, const json_t *row)
{
	double before[SPARSE_TERMS], ns[SPARSE_TERMS];

	for (int t = 0; t < SPARSE_TERMS; t++)
		before[t] = json_number_value(json_object_get(row, tune_cost_names[t]));
	tune_costs_fit(results, link, before, ns);
	fprintf(to, "\t%s", link);
	for (int t = 0; t < SPARSE_TERMS; t++)
		fprintf(to, " %s=%.*f", tune_cost_names[t], ns[t] < 100 ? 3 : 0, ns[t]);
	fputc('\n', to);
}

void tune_costs_write(FILE *to, const struct results *results, const char *comm_json)
{
	json_t *comm = json_loads(comm_json, 0, NULL), *row;
	const char *link;
	bool headed = false;

	json_object_foreach(json_object_get(comm, "sparse_costs"), link, row)
	{
		size_t i = 0;

		while (i < results->n && !is_of(&results->rows[i], link))
			i++;
		if (i == results->n)
			continue;
		if (!headed)
			fputs("costs:\n", to);
		headed = true;
		write_link(to, results, link, row);
	}
	json_decref(comm);
}
