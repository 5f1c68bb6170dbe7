/* SPDX-License-Identifier: MIT */
/* The host loops of one DTYPE whose elements are pairs of a value and an index. */
#define OP MINLOC
#include "kern/host_op.h"
#undef OP
#define OP MAXLOC
#include "kern/host_op.h"
#undef OP
#define OP LOCAL
#include "kern/host_op.h"
#undef OP
