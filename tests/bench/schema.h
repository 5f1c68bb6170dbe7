/* SPDX-License-Identifier: MIT */
/* The schema in docs/bench.md, held against a JSON text. */
#ifndef TESTS_BENCH_SCHEMA_H
#define TESTS_BENCH_SCHEMA_H

#include <jansson.h>

struct schema;

/* schema_load: reads the table between the schema comments of that file; NULL if there is none. */
struct schema *schema_load(const char *path);
void schema_destroy(struct schema *schema);

/* schema_check: how many things are wrong with run (undocumented, missing, of another type), each printed to standard
 * error. */
int schema_check(struct schema *schema, const json_t *run);

#endif
