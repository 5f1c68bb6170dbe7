/* SPDX-License-Identifier: MIT */
/* An algorithm keeps its place until another is a twentieth faster, there and at the next size too: one slow row of a
 * busy machine makes no rule.  The border between two sizes is their geometric mean, as a power of two. */
#include "tune.h"

#include "lib/number.h"

#include <choir/choir.h>

#include <math.h>
#include <string.h>

#define GIVES_WAY 0.95

/* Rows of one collective and kind of memory: first .. end-1; those of one size: row .. size_end-1. */
struct stretch {
	const struct result *rows;
	size_t first, end;
};

static bool same_stretch(const struct result *a, const struct result *b)
{
	return strcmp(a->collective, b->collective) == 0 && strcmp(a->memory, b->memory) == 0;
}

static struct stretch stretch_at(const struct results *results, size_t first)
{
	struct stretch s = { results->rows, first, first };

	while (s.end < results->n && same_stretch(&s.rows[first], &s.rows[s.end]))
		s.end++;
	return s;
}

static size_t size_end(const struct stretch *s, size_t row)
{
	size_t end = row;

	while (end < s->end && s->rows[end].bytes == s->rows[row].bytes)
		end++;
	return end;
}

static double time_of(const struct stretch *s, size_t row, const char *algorithm)
{
	for (size_t end = size_end(s, row); row < end; row++)
		if (strcmp(s->rows[row].algorithm, algorithm) == 0)
			return s->rows[row].us.p50;
	return INFINITY;
}

static const char *fastest(const struct stretch *s, size_t row)
{
	size_t best = row;

	for (size_t end = size_end(s, row); row < end; row++)
		if (s->rows[row].us.p50 < s->rows[best].us.p50)
			best = row;
	return s->rows[best].algorithm;
}

static const char *next_holder(const struct stretch *s, size_t row, const char *holder)
{
	const char *rival = fastest(s, row);
	size_t next = size_end(s, row);

	if (holder == NULL || isinf(time_of(s, row, holder)))
		return rival;
	if (time_of(s, row, rival) > GIVES_WAY * time_of(s, row, holder))
		return holder;
	if (next < s->end && time_of(s, next, rival) > time_of(s, next, holder))
		return holder;
	return rival;
}

static uint64_t border(uint64_t below, uint64_t above)
{
	uint64_t power = 1;

	while ((double)power * (double)power < (double)below * (double)above)
		power *= 2;
	return power > below && power <= above ? power : above;
}

static void print_size(FILE *to, uint64_t bytes)
{
	static const char *const units[] = { "", "k", "m", "g" };
	size_t unit = 0;

	for (; bytes != 0 && bytes % 1024 == 0 && unit < 3; unit++)
		bytes /= 1024;
	fprintf(to, "%llu%s", (unsigned long long)bytes, units[unit]);
}

/* high 0 = no end. */
static void print_rule(FILE *to, const struct tune_place *place, uint64_t low, uint64_t high, const char *algorithm)
{
	fprintf(to, "\tranks=%d & nodes=%d & ", place->ranks, place->nodes);
	print_size(to, low);
	fputc('-', to);
	if (high > 0)
		print_size(to, high);
	fprintf(to, " %s\n", algorithm);
}

/* Whether that algorithm was also measured in plain memory: then it is judged there. */
static bool is_plain(const struct results *results, const struct result *row, const char *algorithm)
{
	for (size_t i = 0; i < results->n; i++)
		if (strcmp(results->rows[i].collective, row->collective) == 0 &&
		    strcmp(results->rows[i].algorithm, algorithm) == 0 &&
		    strncmp(results->rows[i].memory, "symmetric", 9) != 0)
			return true;
	return false;
}

static void write_stretch(FILE *to, const struct results *results, const struct stretch *s,
                          const struct tune_place *place)
{
	const struct result *head = &s->rows[s->first];
	bool symmetric = strncmp(head->memory, "symmetric", 9) == 0;
	const char *holder = NULL;
	uint64_t low = 0, last = 0;

	fprintf(to, "\t# %s memory\n", head->memory);
	for (size_t row = s->first; row < s->end; row = size_end(s, row)) {
		const char *next = next_holder(s, row, holder);
		uint64_t bytes = s->rows[row].rule_bytes, high = border(last, bytes);

		if (holder != NULL && strcmp(next, holder) != 0) {
			if (!symmetric || !is_plain(results, head, holder))
				print_rule(to, place, low, high, holder);
			low = high;
		}
		holder = next;
		last = bytes;
	}
	if (holder != NULL && (!symmetric || !is_plain(results, head, holder)))
		print_rule(to, place, low, 0, holder);
}

static bool headed_before(const struct results *results, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(results->rows[i].collective, results->rows[row].collective) == 0)
			return true;
	return false;
}

void tune_write(FILE *to, const struct results *results, const struct tune_place *place)
{
	fprintf(to, "# choir %s: %d rank%s on %d node%s, %s\n", choir_version(), place->ranks,
	        number_plural(place->ranks), place->nodes, number_plural(place->nodes), place->device);
	fprintf(to, "# written by choir-bench --tune, medians of %d; use: CHOIR_RULES=@this-file\n", place->iterations);
	for (size_t row = 0; row < results->n; row++) {
		if (results->rows[row].kind == RESULT_SPARSE || headed_before(results, row))
			continue;
		fprintf(to, "%s:\n", results->rows[row].collective);
		for (size_t i = row; i < results->n;) {
			struct stretch s = stretch_at(results, i);

			if (strcmp(results->rows[i].collective, results->rows[row].collective) == 0)
				write_stretch(to, results, &s, place);
			i = s.end;
		}
	}
}
