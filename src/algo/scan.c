/* SPDX-License-Identifier: MIT */
#include "algo/scan.h"

#include "base/error.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

void scan_blanks(const char **at)
{
	for (;;) {
		while (**at == ' ' || **at == '\t' || **at == '\r')
			++*at;
		if (**at != '#')
			return;
		while (**at != '\0' && **at != '\n')
			++*at;
	}
}

size_t scan_word(const char **at, char *word, size_t room)
{
	size_t n = 0;

	while ((isalnum((unsigned char)**at) || **at == '_') && n + 1 < room)
		word[n++] = *(*at)++;
	word[n] = '\0';
	return n;
}

bool scan_size(const char **at, uint64_t *out)
{
	unsigned long long value = 0;
	const char *p = *at;
	int shift = 0;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++) {
		if (value > (ULLONG_MAX - 9) / 10)
			return false;
		value = value * 10 + (unsigned)(*p - '0');
	}
	switch (tolower((unsigned char)*p)) {
	case 'g':
		shift += 10; /* fall through */
	case 'm':
		shift += 10; /* fall through */
	case 'k':
		shift += 10;
		p++;
	}
	if (value > ULLONG_MAX >> shift)
		return false;
	*out = value << shift;
	*at = p;
	return true;
}

bool scan_decimal(const char **at, double *out)
{
	const char *p = *at;
	double value = 0, place = 1;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++)
		value = value * 10 + (*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			value += (*p - '0') * (place /= 10);
	*out = value;
	*at = p;
	return true;
}

int scan_line(const char *text, const char *at)
{
	int line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

choir_status scan_expected(const char *text, const char *at, const char *what)
{
	int n = (int)strcspn(at, " \t\r\n;#");

	if (n == 0)
		return error_set(CHOIR_ARGUMENT, "rules: line %d: expected %s before %s", scan_line(text, at), what,
		                 *at == '\0'  ? "the end"
		                 : *at == ';' ? "';'"
		                              : "the end of the line");
	return error_set(CHOIR_ARGUMENT, "rules: line %d: expected %s, not '%.*s'", scan_line(text, at), what,
	                 n < 32 ? n : 32, at);
}
