/* SPDX-License-Identifier: MIT */
/* The host loops of one DTYPE for every operator defined for it.  Signed integers use the unsigned type's loops where
 * the sign makes no difference (host_table.h). */
#define LOOPS "kern/host_op.h"
#define EACH_SIGN_ONLY
#include "kern/each_op.inc"
#undef EACH_SIGN_ONLY
#undef LOOPS
#if !OPS_IS_SIGNED
#define OP LOCAL
#include "kern/host_op.h"
#undef OP
#endif
#if OPS_IS_FLOAT
#define OP PREMUL_SUM
#include "kern/host_op.h"
#undef OP
#endif
