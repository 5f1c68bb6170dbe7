/* SPDX-License-Identifier: MIT */
/* How results are shown.  docs/bench.md describes the JSON; tests/bench holds both to it.  All of this is rank 0's. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench/args/args.h"
#include "result.h"

#include <jansson.h>

/* The table, a row at a time as they come, on standard output. */
void report_text_header(const json_t *header);
void report_text_columns(const struct args *args, const char *collective, enum result_kind kind);
void report_text_row(const struct args *args, const struct result *row);
void report_text_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_text_total(const struct results *results); /* of a run without wrong data */

/* The same as comma-separated values. */
void report_csv_columns(const struct args *args);
void report_csv_row(const struct args *args, const struct result *row);

/* report_json_of: the whole run, a new reference; header is copied.  report_json_write: to path, "-" = standard output;
 * false with errno. */
json_t *report_json_of(const json_t *header, const struct results *results);
bool report_json_write(const char *path, const json_t *run);

/* report_ready: whether the files that args ask for can be written.  report_write: writes them.  report_judge_speed:
 * --min-busbw.  Exit statuses; the sentence said.  report_remove_empty: removes the files that report_ready created and
 * nobody has written. */
int report_ready(const struct args *args);
int report_write(const struct args *args, const json_t *header, const struct results *results);
int report_judge_speed(const struct args *args, const struct results *results);
void report_remove_empty(void);

#endif
