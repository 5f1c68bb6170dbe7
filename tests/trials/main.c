/* SPDX-License-Identifier: MIT */
/* trials [-n TRIALS] [-s SEED] [-e ENDING] [-v]: that many trials of each ending, or of the one that is named, from
 * that seed on.  Prints those that fail, and a table.  To see one again: -n 1 -s ITS_SEED -e ITS_ENDING. */
#include "trials/trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct row {
	int trials, failures;
	int64_t worst_ms;
};

static void print_table(struct row rows[N_ENDINGS][N_SETTINGS])
{
	printf("%-10s %-12s %7s %9s %9s\n", "the rank", "setting", "trials", "failures", "worst ms");
	for (int e = 0; e < N_ENDINGS; e++)
		for (int s = 0; s < N_SETTINGS; s++)
			if (rows[e][s].trials > 0)
				printf("%-10s %-12s %7d %9d %9lld\n", ending_name((enum ending)e),
				       setting_name((enum setting)s), rows[e][s].trials, rows[e][s].failures,
				       (long long)rows[e][s].worst_ms);
}

/* True if it went as it must. */
static bool run_one(const struct trial *trial, struct row *row, bool verbose)
{
	char what[300], why[900] = "";
	int64_t worst_ms;
	bool good = trial_run(trial, &worst_ms, why, sizeof why);

	trial_describe(trial, what, sizeof what);
	row->trials++;
	row->failures += !good;
	row->worst_ms = worst_ms > row->worst_ms ? worst_ms : row->worst_ms;
	if (!good || verbose)
		printf("%s: %s (%lld ms)\n", what, good ? "good" : why, (long long)worst_ms);
	fflush(stdout);
	return good;
}

int main(int argc, char **argv)
{
	static struct row rows[N_ENDINGS][N_SETTINGS];
	const char *only = NULL;
	int n = 20, n_all = 0, failures = 0, c;
	uint64_t seed = 1;
	bool verbose = false;

	while ((c = getopt(argc, argv, "n:s:e:v")) != -1) {
		switch (c) {
		case 'n':
			n = atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'e':
			only = optarg;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return 2;
		}
	}
	for (int e = 0; e < N_ENDINGS; e++) {
		if (only != NULL && strcmp(only, ending_name((enum ending)e)) != 0)
			continue;
		n_all += n;
		for (int i = 0; i < n; i++) {
			struct trial trial = trial_draw(seed + (uint64_t)i, (enum ending)e);

			failures += !run_one(&trial, &rows[e][trial.setting], verbose);
		}
	}
	if (n_all == 0)
		return 2;
	print_table(rows);
	printf("%d trials from seed %llu, %d failures\n", n_all, (unsigned long long)seed, failures);
	return failures > 0;
}
