/* SPDX-License-Identifier: MIT */
/* Four rings over all ranks: two opposite ones, node after node, and two that are mirrored.
 *
 * Any n > 1, any layout.  exchange_rings.c says how, and what it costs. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_quad_directional_ring(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, ring_is_one_link(in) ? &exchange_ring : &exchange_quad_directional_ring);
}
