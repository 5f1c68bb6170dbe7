/* SPDX-License-Identifier: MIT */
/* Design notes.  The host loops of one (DTYPE, OP), made from cl/ops.h; host_dtype.h includes this file once for each.
 *
 * A pass folds up to HOST_FAN sources in registers.  More sources take several passes over a block, whose partial
 * results stay in the first-level cache and in ACC's precision: each source is read from memory once, and the result is
 * written once.
 *
 * dst may be exactly one of the sources: each element is read from all sources before it is written.  HOST_INDEPENDENT
 * tells the compiler so; its own overlap check would send that case, the usual one, to scalar code. */
#include "ops.h"

#undef HOST_HAS_FINAL
#undef HOST_WIDENS
#define HOST_HAS_FINAL (OPS_KIND == OPS_OP_MEAN && !OPS_IS_BOOL)
#define HOST_WIDENS    OPS_IS_NARROW /* ACC is wider than ELEM */

struct OPS(pass) {
	const ELEM *src[HOST_FAN];
	size_t n_src;
	const ACC *part; /* partial results of the block, into which the sources are folded if from_part */
	void *dst;       /* ELEMs, or if to_part ACCs: a partial result again */
	bool from_part, to_part;
	size_t raw_from;
	int n_final; /* 0 = without the final expression */
	OPS_FACTOR factor;
	size_t count;
};

static HOST_INLINE ACC OPS(term)(const struct OPS(pass) * p, size_t k, size_t i)
{
	ACC x = OPS(load)(p->src[k], i);

	return k >= p->raw_from ? OPS(raw)(x, p->factor) : x;
}

static HOST_INLINE ACC OPS(next)(const struct OPS(pass) * p, ACC acc, size_t k, size_t i)
{
	return k < p->n_src ? OPS(fold)(acc, OPS(term)(p, k, i)) : acc;
}

#if HOST_WIDENS
#include "kern/host_widen.h"
#include "kern/host_lanes.h"
#else
static HOST_INLINE void OPS(run)(const struct OPS(pass) * p)
{
	HOST_INDEPENDENT
	for (size_t i = 0; i < p->count; i++) {
		ACC acc = OPS(term)(p, 0, i);

		acc = p->from_part ? OPS(fold)(p->part[i], acc) : acc;
		acc = OPS(next)(p, acc, 1, i);
		acc = OPS(next)(p, acc, 2, i);
		acc = OPS(next)(p, acc, 3, i);
		OPS(store)((ELEM *)p->dst, i, p->n_final != 0 ? OPS(final)(acc, p->n_final) : acc);
	}
}
#endif

/* Callers pass n_src and the flags as constants, so that the compiler makes a loop of its own for each. */
static HOST_INLINE void OPS(run_final)(struct OPS(pass) p)
{
	if (HOST_HAS_FINAL && p.n_final != 0) {
		OPS(run)(&p);
	} else {
		p.n_final = 0;
		OPS(run)(&p);
	}
}

static HOST_INLINE void OPS(run_n)(struct OPS(pass) p, size_t n_src, bool from_part, bool to_part)
{
	p.n_src = n_src;
	p.from_part = from_part;
	p.to_part = HOST_WIDENS && to_part;
	OPS(run_final)(p);
}

static HOST_INLINE void OPS(run_few)(const struct OPS(pass) * p, bool to_part)
{
	if (p->n_src == 1)
		OPS(run_n)(*p, 1, false, to_part);
	else if (p->n_src == 2)
		OPS(run_n)(*p, 2, false, to_part);
	else if (p->n_src == 3)
		OPS(run_n)(*p, 3, false, to_part);
	else
		OPS(run_n)(*p, 4, false, to_part);
}

/* Folds the first 1 to HOST_FAN sources. */
static void OPS(begin)(const struct OPS(pass) * p)
{
	if (HOST_WIDENS && p->to_part)
		OPS(run_few)(p, true);
	else
		OPS(run_few)(p, false);
}

/* Folds HOST_FAN more sources. */
static void OPS(go_on)(const struct OPS(pass) * p)
{
	if (HOST_WIDENS && p->to_part)
		OPS(run_n)(*p, HOST_FAN, true, true);
	else
		OPS(run_n)(*p, HOST_FAN, true, false);
}

/* Sources k .. k + n - 1 of a block of the call; the last pass writes dst. */
static struct OPS(pass) OPS(pass_of)(const struct reduce_call *call, const void *const *src, size_t k, size_t n,
                                     size_t at, void *dst, ACC *part)
{
	const bool last = k + n == call->n_src;
	struct OPS(pass) p = {
		.n_src = n,
		.part = part,
		.dst = last ? dst : part,
		.to_part = !last,
		.raw_from = call->raw_from > k ? call->raw_from - k : 0,
		.n_final = last && call->final ? call->n_ranks : 0,
		.factor = (OPS_FACTOR)call->factor,
	};

	for (size_t j = 0; j < n; j++)
		p.src[j] = (const ELEM *)src[k + j] + at;
	return p;
}

static void OPS(reduce)(const struct reduce_call *call, void *dst, const void *const *src, size_t first, size_t count)
{
	_Alignas(64) ACC part[HOST_PART_BYTES / sizeof(ACC)];
	const size_t block = call->n_src <= HOST_FAN ? count : HOST_PART_BYTES / sizeof(ACC);
	const size_t n_first = (call->n_src - 1) % HOST_FAN + 1;

	for (size_t at = 0; at < count; at += block) {
		size_t n = count - at < block ? count - at : block;
		struct OPS(pass) p = OPS(pass_of)(call, src, 0, n_first, first + at, (ELEM *)dst + at, part);

		p.count = n;
		OPS(begin)(&p);
		for (size_t k = n_first; k < call->n_src; k += HOST_FAN) {
			p = OPS(pass_of)(call, src, k, HOST_FAN, first + at, (ELEM *)dst + at, part);
			p.count = n;
			OPS(go_on)(&p);
		}
	}
}

/* Stores each line of results from registers to one or two destinations. */
static HOST_INLINE void OPS(run_lines)(const struct OPS(pass) * p, const struct host_lines *to, size_t n_lines)
{
	const size_t n = HOST_LINE_BYTES / sizeof(ELEM);
	const bool first_nt = to->first_nt, second_nt = to->second_nt;
	unsigned char *first = to->first, *second = to->second;

	for (size_t i = 0; i < n_lines; i++) {
		_Alignas(HOST_LINE_BYTES) ELEM line[HOST_LINE_BYTES / sizeof(ELEM)];
		struct OPS(pass) part = { .src = { p->src[0] + i * n, p->src[1] + i * n },
			                  .n_src = 2,
			                  .dst = line,
			                  .raw_from = p->raw_from,
			                  .n_final = p->n_final,
			                  .factor = p->factor,
			                  .count = n };

		OPS(run)(&part);
		host_put_line(first + i * HOST_LINE_BYTES, (const unsigned char *)line, first_nt);
		if (second != NULL)
			host_put_line(second + i * HOST_LINE_BYTES, (const unsigned char *)line, second_nt);
	}
}

static void OPS(reduce_lines)(const struct reduce_call *call, const struct host_lines *to, const void *const *src,
                              size_t first, size_t n_lines)
{
	struct OPS(pass) p = OPS(pass_of)(call, src, 0, 2, first, NULL, NULL);

	if (HOST_HAS_FINAL && p.n_final != 0) {
		OPS(run_lines)(&p, to, n_lines);
	} else {
		p.n_final = 0;
		OPS(run_lines)(&p, to, n_lines);
	}
}

static void OPS(write_identity)(void *out)
{
	OPS(store)((ELEM *)out, 0, OPS(identity)());
}
