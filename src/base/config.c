/* SPDX-License-Identifier: MIT */
#include "base/config.h"

#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct config_variable config_variables[] = {
	{ "CHOIR_CLASS", "how the host reaches device memory: direct, map or stage; overrides the probe" },
	{ "CHOIR_DEADLINE_MS", "milliseconds a collective may take from the moment its deps are complete (600000)" },
	{ "CHOIR_DETERMINISTIC", "1: all reductions are folded in rank order: the same bits on every layout (0)" },
	{ "CHOIR_DEVICE",
	  "the device of choir_device_create_default: part of a platform's name, or P:D as choir-info numbers them" },
	{ "CHOIR_LIBRARY", "Python: system, or a folder that holds libchoir.so.0 (the package's own)" },
	{ "CHOIR_LOG", "error, warn, info or debug: the least urgent lines that are logged, to standard error or with "
	               "LEVEL:FILE to a file (debug: one line for each call)" },
	{ "CHOIR_MEETING", "Python: the private folder in which processes of one machine meet" },
	{ "CHOIR_RANKS_PER_NODE", "so many consecutive ranks count as one node (0: ranks on one machine do)" },
	{ "CHOIR_REDUCE", "where reductions run: auto, host or kernel" },
	{ "CHOIR_RULES", "rules that choose algorithms, such as 'allreduce: 0-16k oneshot; 16k- twoshot', or @FILE "
	                 "(choir-bench --tune writes one)" },
	{ "CHOIR_SECRET", "Python: what processes that meet over TCP prove to each other that they know" },
	{ "CHOIR_WARN_MS", "milliseconds after which a late rank is named in the log (30000)" },
};
const size_t n_config_variables = sizeof config_variables / sizeof *config_variables;

const char *config_text(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

choir_status config_int(const char *name, int64_t low, int64_t high, int64_t fallback, int64_t *out)
{
	const char *text = config_text(name);
	long long value;
	char *end;

	if (text == NULL) {
		*out = fallback;
		return CHOIR_SUCCESS;
	}
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || value < low || value > high)
		return error_set(CHOIR_ARGUMENT, "%s=%s: not a number from %lld to %lld", name, text, (long long)low,
		                 (long long)high);
	*out = value;
	return CHOIR_SUCCESS;
}

/* The Levenshtein distance, computed in one row; SIZE_MAX for names longer than the row. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64], n = strlen(b);

	if (n >= 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; *a != '\0'; a++, i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t change = diagonal + (*a != b[j - 1]), add = row[j - 1] + 1, drop = row[j] + 1;

			diagonal = row[j];
			row[j] = change < add ? change : add;
			row[j] = row[j] < drop ? row[j] : drop;
		}
	}
	return row[n];
}

const char *config_nearest(const char *text, const char *(*name_at)(size_t i), size_t n)
{
	const char *best = n > 0 ? name_at(0) : ""; /* also where all are too long to tell */
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(text, name_at(i));

		if (d < least) {
			least = d;
			best = name_at(i);
		}
	}
	return best;
}

static const char *variable_name(size_t i)
{
	return config_variables[i].name;
}

static void check_one(const char *entry)
{
	char name[64];
	size_t n = strcspn(entry, "=");

	if (strncmp(entry, "CHOIR_", 6) != 0 || n >= sizeof name)
		return;
	memcpy(name, entry, n);
	name[n] = '\0';
	for (size_t i = 0; i < n_config_variables; i++)
		if (strcmp(name, config_variables[i].name) == 0)
			return;
	log_text(LOG_WARNING, "choir does not know the variable %s; the nearest it knows is %s", name,
	         config_nearest(name, variable_name, n_config_variables));
}

void config_warn_unknown(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&said))
		return;
	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		check_one(*entry);
}
