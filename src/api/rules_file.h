/* SPDX-License-Identifier: MIT */
/* The rules of a comm, as they are or out of a file. */
#ifndef API_RULES_FILE_H
#define API_RULES_FILE_H

#include "algo/rules.h"

/* rules_read: given = rule text, or "@path" of a file that holds it; NULL = no rules.  ARGUMENT names file, line and
 * word; *out untouched then. */
choir_status rules_read(const char *given, struct rules *out);

/* rules_hash: of the same rules in the same order, however they are written; not of their costs. */
uint64_t rules_hash(const struct rules *rules);

#endif
