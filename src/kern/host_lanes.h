/* SPDX-License-Identifier: MIT */
/* A pass over a narrow type, HOST_LANES elements at a time: compilers vectorise a loop over sixteen floats, but not the
 * conversions in a loop over elements.  The lanes of a group may be in any order (host_widen.h), the same one in
 * partial results.  Included by host_op.h. */
#define HOST_WIDEN  OPS_JOIN2(host_widen_, DTYPE)
#define HOST_NARROW OPS_JOIN2(host_narrow_, DTYPE)

struct OPS(lanes) {
	f32 v[HOST_LANES];
};

static HOST_INLINE struct OPS(lanes) OPS(term_lanes)(const struct OPS(pass) * p, size_t k, size_t i)
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

static HOST_INLINE struct OPS(lanes)
    OPS(next_lanes)(const struct OPS(pass) * p, struct OPS(lanes) acc, size_t k, size_t i)
{
	return k < p->n_src ? OPS(fold_lanes)(acc, OPS(term_lanes)(p, k, i)) : acc;
}

static HOST_INLINE struct OPS(lanes) OPS(part_lanes)(const struct OPS(pass) * p, struct OPS(lanes) x, size_t i)
{
	for (int lane = 0; lane < HOST_LANES; lane++)
		x.v[lane] = OPS(fold)(p->part[i + (size_t)lane], x.v[lane]);
	return x;
}

static HOST_INLINE void OPS(run_lanes)(const struct OPS(pass) * p, size_t i)
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

/* Copies of the last few elements of a pass, filled up with zeros.  Partial results have room for whole groups. */
struct OPS(rest) {
	ELEM src[HOST_FAN][HOST_LANES], out[HOST_LANES];
};

static HOST_INLINE void OPS(take_rest)(struct OPS(pass) * p, size_t i, struct OPS(rest) * rest)
{
	for (size_t k = 0; k < p->n_src; k++) {
		for (int lane = 0; lane < HOST_LANES; lane++)
			rest->src[k][lane] = 0;
		memcpy(rest->src[k], p->src[k] + i, (p->count - i) * sizeof(ELEM));
		p->src[k] = rest->src[k];
	}
	p->part += i;
	p->dst = p->to_part ? (void *)((f32 *)p->dst + i) : rest->out;
	p->count = HOST_LANES;
}

/* The last few elements go through the same loop: a second loop for them would double the code of every operator. */
static HOST_INLINE void OPS(run)(const struct OPS(pass) * whole)
{
	const size_t n_whole = whole->count / HOST_LANES * HOST_LANES, n_rest = whole->count - n_whole;
	struct OPS(rest) rest;
	struct OPS(pass) p = *whole;

	for (int turn = n_whole > 0 ? 0 : 1; turn < 2; turn++) {
		if (turn == 1 && n_rest == 0)
			return;
		if (turn == 1)
			OPS(take_rest)(&p, n_whole, &rest);
		for (size_t i = 0; i + HOST_LANES <= p.count; i += HOST_LANES)
			OPS(run_lanes)(&p, i);
	}
	if (!whole->to_part)
		memcpy((ELEM *)whole->dst + n_whole, rest.out, n_rest * sizeof(ELEM));
}
#undef HOST_WIDEN
#undef HOST_NARROW
