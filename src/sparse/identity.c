/* SPDX-License-Identifier: MIT */
#include "sparse/identity.h"

#include "base/dtype.h"
#include "base/user_op.h"
#include "kern/reduce.h"

#include <stdbool.h>
#include <string.h>

void identity_fill(choir_dtype dtype, choir_op op, void *to, uint64_t n)
{
	bool sums = op == CHOIR_OP_SUM || op == CHOIR_OP_MEAN || op == CHOIR_OP_SQUARE_ADD;
	uint64_t bytes = choir_dtype_bytes(dtype), done = 1;
	unsigned char *out = to;

	if (n == 0)
		return;
	if (user_op_is(op)) {
		memset(to, 0, n * bytes);
		return;
	}
	reduce_identity(dtype, op, out);
	if (sums && dtype_is_float(dtype))
		out[bytes - 1] = 0x80; /* the sign; little-endian, as all that travels here */
	for (; done < n; done *= 2)
		memcpy(out + done * bytes, out, (done * 2 <= n ? done : n - done) * bytes);
}
