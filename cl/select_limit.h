/* SPDX-License-Identifier: MIT */
/* What a selection is of, and its limit: all elements above a key, and of those that equal it the first `ties`. */
#define KEY_OF(bits) ((KEY)((bits) & (KEY)((KEY)-1 >> 1)))
#define ALL_TIES     0xffffffffu

typedef struct {
	KEY key;
	uint ties;
} limit;

/* As the host says.  Key ULONG_MAX, which no key reaches: as select_pick has found it, but that all ties are taken if
 * the host says so. */
static limit limit_of(ulong key, uint ties, __global const ulong *found)
{
	limit it;

	it.key = (KEY)(key == 0xffffffffffffffffUL ? found[0] : key);
	it.ties = key == 0xffffffffffffffffUL && ties != ALL_TIES ? (uint)found[1] : ties;
	return it;
}

/* The elements that there are: n, or where they were counted on the device so many, unless they are more than n, which
 * the place for them has not room for: then none. */
static uint elements_of(uint n, uint is_counted, __global const uint *count)
{
	if (!is_counted)
		return n;
	return count[0] <= n ? count[0] : 0;
}
