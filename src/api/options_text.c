/* SPDX-License-Identifier: MIT */
/* The text of options: "key=value, key=value". */
#include "api/options.h"

#include "base/config.h"

#include <stdio.h>
#include <string.h>

/* Keys from FIRST_DENSE on are for dense collectives only. */
enum { FIRST_DENSE = 2 };
static const char *const option_keys[] = {
	"algorithm",
	"order",
	"method",
	"collectiveImplementation",
	"useSynclessCollectives",
	"topology",
	"link",
	"maxBytesPerTile",
	"chunk_bytes",
	"bucket_bytes",
	"syncful.maxBroadcastSize",
	"syncful.useOptimisedLayout",
	"result",
};
enum { N_KEYS = sizeof option_keys / sizeof *option_keys };

static const char *option_key(size_t i)
{
	return option_keys[i];
}

/* The next "key=value" of the text, of OPTIONS_VALUE_BYTES each. */
static choir_status next_option(const char *call, const char **at, char *key, char *value)
{
	size_t n = 0;

	while (**at == ' ' || **at == ',')
		++*at;
	for (; **at != '\0' && **at != '=' && **at != ',' && n + 1 < OPTIONS_VALUE_BYTES; ++*at)
		if (**at != ' ')
			key[n++] = *(*at);
	key[n] = '\0';
	if (n == 0 && **at == '\0')
		return CHOIR_SUCCESS;
	if (**at != '=')
		return error_set(CHOIR_ARGUMENT, "%s: option '%s' has no value", call, key);
	for (++*at, n = 0; **at != '\0' && **at != ',' && n + 1 < OPTIONS_VALUE_BYTES; ++*at)
		if (**at != ' ')
			value[n++] = *(*at);
	value[n] = '\0';
	for (size_t i = 0; i < N_KEYS; i++)
		if (strcmp(key, option_keys[i]) == 0)
			return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "%s: no option is called '%s'; the nearest is '%s'", call, key,
	                 config_nearest(key, option_key, N_KEYS));
}

choir_status options_find(const char *call, const char *text, const char *key, char *value, bool *found)
{
	char each[OPTIONS_VALUE_BYTES], its_value[OPTIONS_VALUE_BYTES];

	*found = false;
	for (const char *at = text; at != NULL && *at != '\0';) {
		TRY(next_option(call, &at, each, its_value));
		if (strcmp(each, key) == 0) {
			memcpy(value, its_value, sizeof its_value);
			*found = true;
		}
	}
	return CHOIR_SUCCESS;
}

choir_status options_none_dense(const char *call, const char *text)
{
	char key[OPTIONS_VALUE_BYTES], value[OPTIONS_VALUE_BYTES];

	for (const char *at = text; at != NULL && *at != '\0';) {
		TRY(next_option(call, &at, key, value));
		for (size_t i = FIRST_DENSE; i < N_KEYS; i++)
			if (strcmp(key, option_keys[i]) == 0)
				return error_set(CHOIR_ARGUMENT, "%s: option %s is for dense collectives", call, key);
	}
	return CHOIR_SUCCESS;
}
