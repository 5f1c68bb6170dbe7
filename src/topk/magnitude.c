/* SPDX-License-Identifier: MIT */
#include "topk/magnitude.h"

#include "kern/convert.h"

#include <string.h>

double magnitude_value(choir_dtype dtype, uint64_t key)
{
	float narrow = 0;
	double wide;

	if (dtype == CHOIR_F64) {
		memcpy(&wide, &key, sizeof wide);
		return wide;
	}
	if (dtype == CHOIR_F32)
		memcpy(&narrow, &key, sizeof narrow); /* little endian, as all we run on */
	else
		convert_values(CHOIR_F32, &narrow, dtype, &key, 1);
	return narrow;
}

/* Rounded to nearest, then up by one if that is below. */
uint64_t magnitude_key(choir_dtype dtype, double threshold)
{
	uint64_t key = 0;
	float narrow;

	threshold += 0.0; /* not -0 */
	narrow = (float)threshold;
	if (dtype == CHOIR_F64)
		memcpy(&key, &threshold, sizeof threshold);
	else
		convert_values(dtype, &key, CHOIR_F32, &narrow, 1);
	return magnitude_value(dtype, key) < threshold ? key + 1 : key;
}
