/* SPDX-License-Identifier: MIT */
/* The host loops of one DTYPE for every operator defined for it.  Signed integers use the unsigned type's loops where
 * the sign makes no difference (host_table.h). */
#define OP MIN
#include "kern/host_op.h"
#undef OP
#define OP MAX
#include "kern/host_op.h"
#undef OP
#define OP MEAN
#include "kern/host_op.h"
#undef OP
#if !HOST_IS_SIGNED
#define OP SUM
#include "kern/host_op.h"
#undef OP
#define OP PROD
#include "kern/host_op.h"
#undef OP
#define OP SQUARE_ADD
#include "kern/host_op.h"
#undef OP
#define OP LOCAL
#include "kern/host_op.h"
#undef OP
#endif
#if OPS_IS_FLOAT
#define OP PREMUL_SUM
#include "kern/host_op.h"
#undef OP
#elif !HOST_IS_SIGNED
#define OP BAND
#include "kern/host_op.h"
#undef OP
#define OP BOR
#include "kern/host_op.h"
#undef OP
#define OP BXOR
#include "kern/host_op.h"
#undef OP
#endif
#if OPS_IS_BOOL
#define OP LOGICAL_AND
#include "kern/host_op.h"
#undef OP
#define OP LOGICAL_OR
#include "kern/host_op.h"
#undef OP
#endif
