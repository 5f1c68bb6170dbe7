/* SPDX-License-Identifier: MIT */
#include "collective_data.h"

#include <string.h>

struct values collective_values(const struct collective_data *data)
{
	return (struct values){ .dtype = data->dtype, .op = values_op(data->op), .seed = 1, .n_ranks = data->shape->n };
}

static size_t piece_of(size_t count, size_t at)
{
	return count - at < VALUES_BLOCK ? count - at : VALUES_BLOCK;
}

/* The n numbers of a span from its element `at` on, n <= VALUES_BLOCK. */
static void numbers_of(const struct collective_data *data, int me, const struct span *span, size_t at, size_t n,
                       int32_t *numbers)
{
	struct values values = collective_values(data);
	size_t from = data->shift + span->from + at;

	if (span->rank == SPAN_ZEROS)
		memset(numbers, 0, n * sizeof *numbers);
	else if (span->rank == SPAN_REDUCED)
		values_reduced(&values, span->ranks, me, from, n, numbers);
	else
		values_of(&values, span->rank, from, n, numbers);
}

void collective_expected(const struct collective_data *data, int rank, const struct span *span, void *out)
{
	size_t elem = choir_dtype_bytes(data->dtype);
	int32_t numbers[VALUES_BLOCK];

	for (size_t at = 0; at < span->count; at += VALUES_BLOCK) {
		numbers_of(data, rank, span, at, piece_of(span->count, at), numbers);
		values_encode(data->dtype, numbers, piece_of(span->count, at), (char *)out + at * elem);
	}
}

void collective_input(const struct collective_data *data, int rank, size_t count, void *send)
{
	struct span span = { .count = count, .rank = rank };

	collective_expected(data, rank, &span, send);
}

/* Elements of a piece that differ; *first_p = the first, if it was none before. */
static uint64_t compare(const unsigned char *got, const unsigned char *wanted, size_t n, size_t elem, size_t *first_p)
{
	uint64_t wrong = 0;

	if (memcmp(got, wanted, n * elem) == 0)
		return 0;
	for (size_t i = n; i-- > 0;)
		if (memcmp(got + i * elem, wanted + i * elem, elem) != 0) {
			*first_p = i;
			wrong++;
		}
	return wrong;
}

/* got: where the span's elements are; me: whose output they are in. */
static uint64_t wrong_in(const struct collective_data *data, int me, const struct span *span, const unsigned char *got,
                         struct collective_fault *first)
{
	size_t elem = choir_dtype_bytes(data->dtype), i = 0;
	int32_t numbers[VALUES_BLOCK];
	unsigned char wanted[VALUES_BLOCK * VALUES_MOST_BYTES];
	uint64_t wrong = 0;

	for (size_t at = 0; at < span->count; at += VALUES_BLOCK) {
		size_t n = piece_of(span->count, at);
		uint64_t more;

		numbers_of(data, me, span, at, n, numbers);
		values_encode(data->dtype, numbers, n, wanted);
		more = compare(got + at * elem, wanted, n, elem, &i);
		if (wrong == 0 && more > 0)
			*first = (struct collective_fault){ span->at + at + i, numbers[i] };
		wrong += more;
	}
	return wrong;
}

uint64_t collective_wrong(const struct collective_data *data, int rank, const void *recv,
                          struct collective_fault *first_p)
{
	struct collective_fault first;
	struct span span;
	uint64_t wrong = 0;

	for (int k = 0; collective_span(data->shape, rank, k, &span); k++) {
		const unsigned char *got = (const unsigned char *)recv + span.at * choir_dtype_bytes(data->dtype);
		uint64_t more = wrong_in(data, rank, &span, got, &first);

		if (wrong == 0 && more > 0 && first_p != NULL)
			*first_p = first;
		wrong += more;
	}
	return wrong;
}

uint64_t collective_wrong_input(const struct collective_data *data, int rank, size_t count, const void *send)
{
	struct span span = { .count = count, .rank = rank };
	struct collective_fault first;

	return wrong_in(data, rank, &span, send, &first);
}

bool collective_gaps_hold(const struct collective_data *data, int rank, const void *recv, unsigned char filler)
{
	size_t elem = choir_dtype_bytes(data->dtype), at = 0;
	const unsigned char *bytes = recv;
	struct span spans[COLLECTIVE_MOST_RANKS], *next;
	int n = 0;

	while (n < COLLECTIVE_MOST_RANKS && collective_span(data->shape, rank, n, &spans[n]))
		n++;
	/* Blocks stand in the order of the ranks, or in the opposite one. */
	for (int k = 0; k < n; k++) {
		next = &spans[spans[0].at <= spans[n - 1].at ? k : n - 1 - k];
		for (; at < next->at * elem; at++)
			if (bytes[at] != filler)
				return false;
		at = (next->at + next->count) * elem;
	}
	return true;
}
