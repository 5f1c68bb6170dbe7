/* SPDX-License-Identifier: MIT */
/* The table of CHOIR_* environment variables that the library reads, with their meanings. */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <choir/types.h>
#include <stdbool.h>

struct config_variable {
	const char *name, *about;
};
extern const struct config_variable config_variables[];
extern const size_t n_config_variables;

/* config_text: the variable's value, NULL if unset or empty. */
const char *config_text(const char *name);

/* config_int: the variable as a number from low to high; fallback if unset.  ARGUMENT, naming variable and value. */
choir_status config_int(const char *name, int64_t low, int64_t high, int64_t fallback, int64_t *out);

/* config_warn_unknown: once a process, logs a warning for each unknown CHOIR_* variable, with the nearest known
 * name. */
void config_warn_unknown(void);

/* config_nearest: of n names the one with the least edit distance to text, for error sentences. */
const char *config_nearest(const char *text, const char *(*name_at)(size_t i), size_t n);

#endif
