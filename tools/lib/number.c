/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffixes[] = "KMGT";

bool number_bytes(const char *text, size_t *out)
{
	char *end;
	double value = strtod(text, &end);
	const char *suffix;

	/* strtod also reads "0x8", "inf" and " 8": a size starts with a digit and has no x. */
	if (!isdigit((unsigned char)text[0]) || strcspn(text, "xX") < (size_t)(end - text))
		return false;
	if (*end != '\0' && (suffix = strchr(suffixes, toupper((unsigned char)*end))) != NULL) {
		value = ldexp(value, 10 * (int)(suffix - suffixes + 1));
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B')
		end++;
	if (*end != '\0' || value != floor(value) || value > 0x1p53)
		return false;
	*out = (size_t)value;
	return true;
}

bool number_share(const char *text, double *out)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !isfinite(value) || value < 0)
		return false;
	if (strcmp(end, "%") == 0)
		value /= 100;
	else if (*end != '\0')
		return false;
	*out = value;
	return true;
}

char *number_print_bytes(size_t bytes, char *text)
{
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && suffixes[unit] != '\0') {
		value /= 1024;
		unit++;
	}
	snprintf(text, 16, value == floor(value) ? "%.0f%.1s" : "%.1f%.1s", value,
	         unit == 0 ? "" : &suffixes[unit - 1]);
	return text;
}
