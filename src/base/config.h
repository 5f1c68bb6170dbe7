/* SPDX-License-Identifier: MIT */
/* The CHOIR_* environment: every variable that the library reads is a row of one table, with its meaning. */
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

/* config_int: a number from low to high; ARGUMENT naming variable and value if it is none; *out = fallback if unset. */
choir_status config_int(const char *name, int64_t low, int64_t high, int64_t fallback, int64_t *out);

/* config_warn_unknown: one warning in the log for each CHOIR_* variable that is in no table, with the nearest known
 * name.  Once a process. */
void config_warn_unknown(void);

/* config_nearest: the name of the list most like text (edit distance), for error messages. */
const char *config_nearest(const char *text, const char *(*name_at)(size_t i), size_t n);

#endif
