/* SPDX-License-Identifier: MIT */
/* CMocka with what it wants included before it. */
#ifndef TESTS_BENCH_UNIT_H
#define TESTS_BENCH_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
