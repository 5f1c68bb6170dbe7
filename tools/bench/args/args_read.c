/* SPDX-License-Identifier: MIT */
#include "args_read.h"

#include "lib/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool args_complain(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, ARGS_ERROR_BYTES, format, list);
	va_end(list);
	return false;
}

bool args_read_bytes(const char *flag, const char *text, size_t *out, char *error)
{
	if (text == NULL || number_bytes(text, out))
		return true;
	return args_complain(error, "%s: '%s' is no number such as 8, 64K or 1G", flag, text);
}

bool args_read_share(const char *flag, const char *text, double *out, char *error)
{
	if (text == NULL || number_share(text, out))
		return true;
	return args_complain(error, "%s: '%s' is no share such as 5%% or 0.05", flag, text);
}

bool args_read_list(const char *flag, const char *text, const char **items, int *n, char *error)
{
	char *rest = NULL;

	*n = 0;
	if (text == NULL)
		return true;
	for (char *item = strtok_r((char *)text, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
		if (*n == ARGS_MAX_LIST)
			return args_complain(error, "%s: more than %d items", flag, ARGS_MAX_LIST);
		items[(*n)++] = item;
	}
	return *n > 0 || args_complain(error, "%s: the list is empty", flag);
}
