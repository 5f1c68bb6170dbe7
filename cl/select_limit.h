/* SPDX-License-Identifier: MIT */
/* The limit of a selection: all elements above a key, and of those that equal it the first `ties`. */
#define KEY_OF(bits) ((KEY)((bits) & (KEY)((KEY)-1 >> 1)))
#define ALL_TIES     0xffffffffu

typedef struct {
	KEY key;
	uint ties;
} limit;

/* As the host says; key ULONG_MAX, which no key reaches: as select_pick has found it. */
static limit limit_of(ulong key, uint ties, __global const ulong *found)
{
	limit it;

	it.key = (KEY)(key == 0xffffffffffffffffUL ? found[0] : key);
	it.ties = key == 0xffffffffffffffffUL ? (uint)found[1] : ties;
	return it;
}
