/* SPDX-License-Identifier: MIT */
#include "sparse/format.h"

#include <stdbool.h>

#define MOST_BYTES (UINT64_C(1) << 60)

uint64_t format_bits_bytes(struct index_range range)
{
	uint64_t span = index_range_span(range);

	return block_round((span / 64 + (span % 64 != 0)) * sizeof(uint64_t));
}

static uint64_t rows_off(enum format format, struct index_range range, uint64_t count)
{
	if (format == FORMAT_PAIRS)
		return block_rows_off(index_form_of(range), count);
	return format == FORMAT_DENSE && count == index_range_span(range) ? 0 : format_bits_bytes(range);
}

uint64_t format_bytes(enum format format, struct index_range range, uint64_t count, uint64_t row_bytes)
{
	uint64_t rows = format == FORMAT_DENSE ? index_range_span(range) : count;

	if (rows > 0 && rows > MOST_BYTES / row_bytes)
		return UINT64_MAX;
	return rows_off(format, range, count) + block_round(rows * row_bytes);
}

enum format format_least(struct index_range range, uint64_t count, uint64_t row_bytes)
{
	enum format best = FORMAT_PAIRS;

	for (enum format f = FORMAT_BITMAP; f < N_FORMATS; f++)
		if (format_bytes(f, range, count, row_bytes) < format_bytes(best, range, count, row_bytes))
			best = f;
	return best;
}

static void write_bits(struct index_range range, const struct pairs *pairs, uint64_t *bits)
{
	memset(bits, 0, format_bits_bytes(range));
	for (uint64_t i = 0; i < pairs->count; i++) {
		uint64_t x = (uint64_t)(index_at(pairs->ind, pairs->form, i) - range.lo);

		bits[x / 64] |= UINT64_C(1) << (x % 64);
	}
}

void format_write(enum format format, struct index_range range, const struct pairs *pairs, uint64_t row_bytes, void *to)
{
	uint64_t off = rows_off(format, range, pairs->count);
	unsigned char *rows = (unsigned char *)to + off;

	if (format == FORMAT_PAIRS) {
		block_write(to, index_form_of(range), pairs, 0, pairs->count, row_bytes);
		return;
	}
	if (off > 0)
		write_bits(range, pairs, to);
	for (uint64_t i = 0; format == FORMAT_DENSE && i < pairs->count; i++)
		memcpy(rows + (uint64_t)(index_at(pairs->ind, pairs->form, i) - range.lo) * row_bytes,
		       pairs->rows + i * row_bytes, row_bytes);
	if (format == FORMAT_BITMAP && pairs->count > 0 && row_bytes > 0)
		memcpy(rows, pairs->rows, pairs->count * row_bytes);
}

static void put_index(void *ind, struct index_form form, uint64_t i, int64_t index)
{
	if (form.bytes == 4)
		((int32_t *)ind)[i] = (int32_t)(index - form.base);
	else
		((int64_t *)ind)[i] = index - form.base;
}

/* The set bits as indices; where dense is not NULL their rows too.  bits NULL: all are set. */
static void read_bits(const uint64_t *bits, struct index_range range, void *ind, struct index_form form,
                      const unsigned char *dense, uint64_t row_bytes, unsigned char *rows)
{
	uint64_t span = index_range_span(range), words = span / 64 + (span % 64 != 0), n = 0;

	for (uint64_t w = 0; w < words; w++) {
		uint64_t all = w + 1 < words || span % 64 == 0 ? UINT64_MAX : (UINT64_C(1) << (span % 64)) - 1;

		for (uint64_t m = bits == NULL ? all : bits[w]; m != 0; m &= m - 1, n++) {
			uint64_t x = w * 64 + (uint64_t)__builtin_ctzll(m);

			put_index(ind, form, n, (int64_t)((uint64_t)range.lo + x));
			if (dense != NULL)
				memcpy(rows + n * row_bytes, dense + x * row_bytes, row_bytes);
		}
	}
}

void format_read(enum format format, struct index_range range, uint64_t count, uint64_t row_bytes, const void *from,
                 void *ind, struct index_form form, void *to)
{
	uint64_t off = rows_off(format, range, count);
	const unsigned char *rows = (const unsigned char *)from + off;

	if (count == 0)
		return;
	if (format == FORMAT_PAIRS)
		index_convert(ind, form, from, index_form_of(range), count);
	else
		read_bits(off > 0 ? from : NULL, range, ind, form, format == FORMAT_DENSE ? rows : NULL, row_bytes, to);
	if (format != FORMAT_DENSE && row_bytes > 0)
		memcpy(to, rows, count * row_bytes);
}

void format_read_dense(const uint64_t *bits, const void *from, struct index_range range, uint64_t row_bytes, void *ind,
                       struct index_form form, void *rows)
{
	read_bits(bits, range, ind, form, from, row_bytes, rows);
}
