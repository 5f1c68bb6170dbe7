/* SPDX-License-Identifier: MIT */
/* A pass over f16 or bf16, HOST_LANES elements at a time: compilers find no good code for these conversions in a loop over elements, but they do keep
 * a loop over sixteen floats in two registers.  The lanes of a group may stand in any order (host_widen.h), the same in partial results.  Included by
 * host_op.h. */
#define HOST_WIDEN OPS_JOIN2(host_widen_, DTYPE)
#define HOST_NARROW OPS_JOIN2(host_narrow_, DTYPE)

struct OPS(lanes) {
	f32 v[HOST_LANES];
};

static HOST_INLINE struct OPS(lanes) OPS(term_lanes)(const struct OPS(pass) *p, size_t k, size_t i)
{
	struct OPS(lanes) x;

	HOST_WIDEN(x.v, p->src[k] + i);
	for (int lane = 0; lane < HOST_LANES; lane++)
		x.v[lane] = k >= p->raw_from ? OPS(raw)(x.v[lane], p->factor) : x.v[lane];
	return x;
}

static HOST_INLINE struct OPS(lanes) OPS(fold_lanes)(struct OPS(lanes) acc, struct OPS(lanes) x)
{
	for (int lane = 0; lane < HOST_LANES; lane++)
		acc.v[lane] = OPS(fold)(acc.v[lane], x.v[lane]);
	return acc;
}

static HOST_INLINE struct OPS(lanes) OPS(next_lanes)(const struct OPS(pass) *p, struct OPS(lanes) acc, size_t k, size_t i)
{
	return k < p->n_src ? OPS(fold_lanes)(acc, OPS(term_lanes)(p, k, i)) : acc;
}

static HOST_INLINE struct OPS(lanes) OPS(part_lanes)(const struct OPS(pass) *p, struct OPS(lanes) x, size_t i)
{
	for (int lane = 0; lane < HOST_LANES; lane++)
		x.v[lane] = OPS(fold)(p->part[i + (size_t)lane], x.v[lane]);
	return x;
}

static HOST_INLINE void OPS(run_lanes)(const struct OPS(pass) *p, size_t i)
{
	struct OPS(lanes) acc = OPS(term_lanes)(p, 0, i);

	acc = p->from_part ? OPS(part_lanes)(p, acc, i) : acc;
	acc = OPS(next_lanes)(p, acc, 1, i);
	acc = OPS(next_lanes)(p, acc, 2, i);
	acc = OPS(next_lanes)(p, acc, 3, i);
	for (int lane = 0; lane < HOST_LANES; lane++)
		acc.v[lane] = p->n_final != 0 ? OPS(final)(acc.v[lane], p->n_final) : acc.v[lane];
	for (int lane = 0; lane < HOST_LANES && p->to_part; lane++)
		((f32 *)p->dst)[i + (size_t)lane] = acc.v[lane];
	if (!p->to_part)
		HOST_NARROW((ELEM *)p->dst + i, acc.v);
}

/* The last few elements, in copies that are filled up with zeros.  Partial results have room for whole groups. */
static HOST_INLINE void OPS(run_rest)(const struct OPS(pass) *p, size_t i)
{
	const size_t bytes = (p->count - i) * sizeof(ELEM);
	ELEM src[HOST_FAN][HOST_LANES] = { { 0 } }, out[HOST_LANES];
	struct OPS(pass) rest = *p;

	for (size_t k = 0; k < p->n_src; k++) {
		memcpy(src[k], p->src[k] + i, bytes);
		rest.src[k] = src[k];
	}
	rest.part = p->part + i;
	rest.dst = p->to_part ? (void *)((f32 *)p->dst + i) : out;
	OPS(run_lanes)(&rest, 0);
	if (!p->to_part)
		memcpy((ELEM *)p->dst + i, out, bytes);
}

static HOST_INLINE void OPS(run)(const struct OPS(pass) *p)
{
	size_t i = 0;

	for (; i + HOST_LANES <= p->count; i += HOST_LANES)
		OPS(run_lanes)(p, i);
	if (i < p->count)
		OPS(run_rest)(p, i);
}
#undef HOST_WIDEN
#undef HOST_NARROW
