/* SPDX-License-Identifier: MIT */
#include "sparse/header.h"

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "sparse/algorithm.h"
#include "sparse/coalesce.h"

#include <inttypes.h>

static choir_status differ(const char *what, int rank, const char *its, int other, const char *others)
{
	return error_set(CHOIR_MISMATCH, "sparse_allreduce: rank %d calls with %s %s, rank %d with %s", rank, what, its,
	                 other, others);
}

static const char *op_name(choir_op code, char text[USER_OP_CODE_BYTES])
{
	return user_op_is(code) ? user_op_code_name(code, text) : choir_op_name(code);
}

static choir_status same_call(const struct sparse_header *all, int a, int b)
{
	const struct sparse_header *x = &all[a], *y = &all[b];
	char names[2][USER_OP_CODE_BYTES];

	if (x->ind_dtype != y->ind_dtype)
		return differ("index dtype", a, choir_dtype_name(x->ind_dtype), b, choir_dtype_name(y->ind_dtype));
	if (x->val_dtype != y->val_dtype)
		return differ("value dtype", a, choir_dtype_name(x->val_dtype), b, choir_dtype_name(y->val_dtype));
	if (x->op != y->op)
		return differ("operator", a, op_name(x->op, names[0]), b, op_name(y->op, names[1]));
	if (x->algorithm != y->algorithm)
		return differ("algorithm", a, sparse_algorithm_name(x->algorithm), b,
		              sparse_algorithm_name(y->algorithm));
	if (x->mode != y->mode)
		return error_set(CHOIR_MISMATCH,
		                 "sparse_allreduce: rank %d calls with coalesce mode %d, rank %d with %d", a, x->mode,
		                 b, y->mode);
	if (x->wire != y->wire)
		return error_set(CHOIR_MISMATCH, "sparse_allreduce: rank %d calls with wire type %d, rank %d with %d",
		                 a, x->wire, b, y->wire);
	return CHOIR_SUCCESS;
}

/* Different constants would be different choices, and ranks that wait for each other for ever. */
static choir_status same_costs(const struct sparse_header *all, int a, int b)
{
	for (int link = 0; link < N_LINKS; link++)
		for (int term = 0; term < N_COSTS; term++) {
			double x = all[a].costs.ns[link][term], y = all[b].costs.ns[link][term];

			if (x != y)
				return error_set(
				    CHOIR_MISMATCH,
				    "sparse_allreduce: the rules differ: costs: %s %s=%g on rank %d, %s=%g on rank %d",
				    link_costs_links[link], link_costs_terms[term], x, a, link_costs_terms[term], y, b);
		}
	return CHOIR_SUCCESS;
}

/* The width is that of the first rank that has pairs; a rank without pairs has none. */
static choir_status same_width(const struct sparse_header *all, int n, struct sparse_facts *facts)
{
	int first = 0;

	while (first < n && all[first].raw_pairs == 0)
		first++;
	for (int r = first + 1; r < n; r++)
		if (all[r].raw_pairs > 0 && all[r].width != all[first].width)
			return error_set(CHOIR_MISMATCH,
			                 "sparse_allreduce: rank %d sends rows of width %" PRIu64
			                 ", rank %d rows of width %" PRIu64,
			                 first, all[first].width, r, all[r].width);
	if (first == n)
		return CHOIR_SUCCESS;
	facts->width = all[first].width;
	facts->last = all[first].last;
	facts->growth = all[first].growth;
	return CHOIR_SUCCESS;
}

/* Has the device of each rank room for a merge of all lists? */
static bool merge_fits(const struct sparse_header *all, int n, const struct sparse_facts *facts)
{
	choir_dtype dtype = (choir_dtype)all[0].val_dtype;
	bool fits = true;

	for (int r = 0; r < n; r++)
		fits &= coalesce_kernels_have_room(facts->pairs, facts->width * choir_dtype_bytes(dtype),
		                                   facts->width * dtype_acc_bytes(dtype), all[r].buffer_bytes,
		                                   all[r].memory_bytes);
	return fits;
}

choir_status header_agree(const struct sparse_header *all, int n, struct sparse_facts *out)
{
	struct sparse_facts facts = {
		.range = INDEX_RANGE_EMPTY, .algorithm = all[0].algorithm, .shared = true, .on_device = true, .last = -1
	};

	for (int r = 1; r < n; r++) {
		TRY(same_call(all, 0, r));
		TRY(same_costs(all, 0, r));
	}
	TRY(same_width(all, n, &facts));
	for (int r = 0; r < n; r++) {
		if (all[r].bad_at < all[r].raw_pairs)
			return error_set(CHOIR_ARGUMENT,
			                 "sparse_allreduce: rank %d sends the negative index %" PRId64
			                 " at position %" PRIu64,
			                 r, all[r].bad_index, all[r].bad_at);
		facts.raw |= all[r].raw != 0;
		facts.shared &= all[r].shared != 0;
		facts.on_device &= all[r].list_on_device != 0;
		facts.some_stay |= all[r].list_on_device != 0 && all[r].pairs > 0;
		facts.pairs += all[r].pairs;
		facts.most = all[r].pairs > facts.most ? all[r].pairs : facts.most;
		facts.least = r == 0 || all[r].pairs < facts.least ? all[r].pairs : facts.least;
		facts.range = index_range_join(facts.range, (struct index_range){ .lo = all[r].lo, .hi = all[r].hi });
	}
	facts.on_device &= facts.pairs > 0 && merge_fits(all, n, &facts);
	facts.some_stay &= !facts.on_device;
	*out = facts;
	return CHOIR_SUCCESS;
}
