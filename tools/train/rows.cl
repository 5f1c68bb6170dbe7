/* SPDX-License-Identifier: MIT */
/* Rows of the embedding tables.  WIDTH: floats in a row.  One work-item a float; n = how many, the global size being
 * rounded up. */
#ifndef WIDTH
#error WIDTH is missing: floats in a row
#endif

/* out row r = row index[first + r] of the table */
kernel void gather_rows(global float *out, global const float *table, global const int *index, const uint first,
                        const uint n)
{
	const uint i = get_global_id(0);

	if (i < n)
		out[i] = table[(size_t)index[first + i / WIDTH] * WIDTH + i % WIDTH];
}

/* row index[r] of the table -= rate * word_rate[index[r]] * row r of the gradient.  Indices differ from each other, so
 * no two work-items meet. */
kernel void update_rows(global float *table, global const int *index, global const float *rows,
                        global const float *word_rate, const float rate, const uint n)
{
	const uint i = get_global_id(0);

	if (i < n) {
		const int word = index[i / WIDTH];

		table[(size_t)word * WIDTH + i % WIDTH] -= rate * word_rate[word] * rows[i];
	}
}
