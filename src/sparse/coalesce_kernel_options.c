/* SPDX-License-Identifier: MIT */
#include "sparse/coalesce_kernel_options.h"

#include "kern/reduce.h"

#include <stdio.h>

static const char *const dtype_options[] = {
#define DTYPE(name, number, text, bytes) [number] = #name,
#include <choir/dtype.def>
#undef DTYPE
};

static const char *const op_options[] = {
#define OP(name, number, text, about) [number] = #name,
#include <choir/op.def>
#undef OP
};

static const char *index_type(uint32_t ind_bytes)
{
	return ind_bytes == 4 ? "int" : "long";
}

static const char *key_type(bool wide)
{
	return wide ? "ulong" : "uint";
}

void coalesce_radix_options(char *out, uint32_t ind_bytes, bool wide, unsigned radix_bits)
{
	snprintf(out, COALESCE_OPTIONS_BYTES, "-DINDEX=%s -DKEY=%s -DRADIX_BITS=%u", index_type(ind_bytes), key_type(wide), radix_bits);
}

void coalesce_segment_options(char *out, uint32_t ind_bytes, bool wide)
{
	snprintf(out, COALESCE_OPTIONS_BYTES, "-DINDEX=%s -DKEY=%s", index_type(ind_bytes), key_type(wide));
}

void coalesce_fold_options(char *out, const struct coalesce_call *call)
{
	/* Only where they matter: the other operators share one program. */
	snprintf(out, COALESCE_OPTIONS_BYTES, "-DDTYPE=%s -DOP=%s -DRAW=%d -DFINAL=%d", dtype_options[call->dtype], op_options[call->op],
		 call->raw && call->op == CHOIR_OP_SQUARE_ADD, call->final && reduce_has_final(call->op));
}
