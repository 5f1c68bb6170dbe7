/* SPDX-License-Identifier: MIT */
/* What CMocka wants to be included first. */
#ifndef TRAIN_UNIT_H
#define TRAIN_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
