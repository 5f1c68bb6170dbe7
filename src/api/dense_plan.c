/* SPDX-License-Identifier: MIT */
#include "api/dense_plan.h"

#include "algo/pattern_order.h"
#include "api/dense_buffers.h"
#include "base/dtype.h"
#include "api/local.h"
#include "api/options.h"
#include "exec/symmetric.h"

/* premul_sum: each rank's factor is its own, so peers cannot take values out of its SEND. */
static bool scales(const struct dense *d)
{
	return collective_has(d->collective, TRAIT_REDUCES) && d->op == CHOIR_OP_PREMUL_SUM;
}

bool dense_plan_kernels_can(const struct dense *d)
{
	return !collective_has(d->collective, TRAIT_REDUCES) || d->op == CHOIR_OP_LOCAL ||
	       reduce_kernel_supported(d->comm->device, d->dtype, d->op) == CHOIR_SUCCESS;
}

/* As far as ranks know without each other: the same on all. */
static uint64_t device_bytes(const struct dense *d)
{
	return dense_plan_kernels_can(d) ? d->comm->device_bytes : 0;
}

enum plan_order dense_plan_rank_order(choir_dtype dtype, choir_op op)
{
	if (reduce_is_exact(dtype, op))
		return PLAN_ORDER_ANY;
	return dtype_is_narrow(dtype) ? PLAN_ORDER_ONCE : PLAN_ORDER_RANKS;
}

static enum plan_order order_of(const struct dense *d)
{
	if (d->order_ranks)
		return dense_plan_rank_order(d->dtype, d->op);
	return d->user != NULL && !d->user->config.commutative ? PLAN_ORDER_RANKS : PLAN_ORDER_ANY;
}

/* On one node the messages of a plan go through rings of the arena (exec/p2p.h), several at a time. */
static uint64_t message_bytes(const struct choir_comm *comm)
{
	enum { AT_A_TIME = 8 };

	if (comm->layout.n_nodes > 1 || !arena_has_rings(comm->arena))
		return comm->message_bytes;
	return min_u64(ARENA_ITEM_BYTES, arena_ring_bytes(comm->arena) / AT_A_TIME);
}

void dense_plan_describe(const struct dense *d, struct algo_in *in)
{
	struct choir_comm *comm = d->comm;
	bool scripted = d->collective == COLLECTIVE_ALLTOALLV; /* or may become a script */

	*in = (struct algo_in){ .layout = &comm->layout,
		                .me = comm->rank,
		                .collective = d->collective,
		                .elem_bytes = choir_dtype_bytes(d->dtype),
		                .root = d->root,
		                .final_op = collective_has(d->collective, TRAIT_REDUCES) && reduce_has_final(d->op),
		                .fold_order = order_of(d),
		                .block_bytes = d->block_bytes,
		                .block_off = d->block_off,
		                .send_off = d->send_off,
		                .recv_off = d->recv_off,
		                .shared = symmetric_allows_direct(comm) && !scales(d),
		                .device_bytes = d->comm->device_bytes > 0 ? device_bytes(d) : 0,
		                .command_bytes = comm->command_bytes,
		                .far_memory = comm->far_memory,
		                .peer_percent = comm->peer_percent,
		                .core_cache_bytes = comm->core_cache_bytes,
		                .scaled = scales(d),
		                .slot_bytes = scripted ? comm->fallback_bytes : comm->slot_bytes,
		                .message_bytes = message_bytes(comm) };
	in->bytes = d->collective == COLLECTIVE_ALLTOALLV ? d->mean_bytes : d->count * in->elem_bytes;
}

/* The one that the options name, or the rules choose.  ARGUMENT, UNSUPPORTED. */
static choir_status algorithm_of(const struct dense *d, const struct dense_options *options, const struct algo_in *in,
                                 const struct algorithm **out_p)
{
	const char *why;

	TRY(options_choose(d->call, d->comm, options, in, out_p));
	if (*out_p == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s: no algorithm fits", d->call);
	why = algo_disorder(*out_p, in);
	if (why != NULL)
		return error_set(CHOIR_ARGUMENT, "%s: algorithm '%s' %s, which %s asks for", d->call, (*out_p)->name,
		                 why, d->order_ranks ? "order=ranks" : "an operator that is not commutative");
	why = (*out_p)->unfit(in);
	return why == NULL ? CHOIR_SUCCESS
	                   : error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", d->call, (*out_p)->name, why);
}

/* As dense_buffers_bind finds memory of the comm's device. */
static void take_device_memory(const struct dense *d, struct algo_in *in)
{
	const choir_device *device = d->comm->device;
	uint64_t direct_bytes = d->collective == COLLECTIVE_ALLTOALLV ? 0 : dev_short_bytes(device);

	if (choir_device_class(device) != CHOIR_CLASS_STAGE)
		return;
	in->send_direct = d->send_bytes <= direct_bytes;
	in->recv_direct = d->recv_bytes <= direct_bytes;
	if (dense_buffers_lack_shadows(device, in->send_direct, in->recv_direct))
		in->send_direct = in->recv_direct = false;
	in->owns_copied = !in->send_direct && !in->recv_direct;
	in->owns_reduced = in->owns_copied && dense_buffers_reduce_alone(d) && dense_plan_kernels_can(d);
	in->shared = false;
}

/* A call with result=atomic writes host memory of the library's, which no device reaches, and no other process: where
 * peers write it, the call takes what it would if they did not reach its buffers. */
static choir_status foresee_atomic(const struct dense *d, const struct dense_options *options, struct algo_in *in,
                                   const struct algorithm **out_p)
{
	struct dense_options left = *options;
	struct algo_in without = algo_in_without_peers(d->comm, in);
	bool stays = d->comm->one_process || !collective_has(d->collective, TRAIT_PEERS_WRITE) ||
	             algo_unfit(*out_p, &without) == NULL;

	if (!options->atomic || in->bytes == 0 || (stays && !(*out_p)->on_device))
		return CHOIR_SUCCESS;
	if (left.algorithm != NULL && algo_unfit(left.algorithm, &without) != NULL)
		left.algorithm = NULL;
	*in = without;
	return algorithm_of(d, &left, in, out_p);
}

choir_status dense_plan_foresee(struct dense *d, const choir_call *call, bool of_device, struct algo_in *in,
                                const struct algorithm **out_p)
{
	struct dense_options options;

	if (collective_has(d->collective, TRAIT_REDUCES))
		TRY(options_order(d->call, d->comm, call, &d->order_ranks));
	dense_plan_describe(d, in);
	in->send_direct = in->recv_direct = true;
	if (of_device)
		take_device_memory(d, in);
	TRY(options_read(d->call, d->comm, call, d->collective, &options));
	options_apply(&options, in);
	TRY(algorithm_of(d, &options, in, out_p));
	return foresee_atomic(d, &options, in, out_p);
}

static choir_status take_plan(const struct dense *d, const struct dense_options *options, struct bound *bound)
{
	const struct algorithm *algorithm;

	cached_plan_release(bound->cached);
	bound->cached = NULL;
	if (collective_has(d->collective, TRAIT_REDUCES) && d->op == CHOIR_OP_LOCAL)
		return local_plan(&bound->in, &bound->cached);
	TRY(algorithm_of(d, options, &bound->in, &algorithm));
	return plan_cache_get(&d->comm->plans, algorithm, &bound->in, &bound->cached);
}

/* What the call's options choose where peers turn out not to reach its buffers, which the rules know nothing of. */
static void choose_instead(const struct dense *d, const struct dense_options *options, struct bound *bound)
{
	struct dense_options left = *options;
	struct algo_in in;

	if (options->algorithm == NULL && options->way == WAY_ANY && options->order == ORDER_AUTO &&
	    options->max_broadcast < 0)
		return;
	in = algo_in_without_peers(d->comm, &bound->in);
	if (left.algorithm != NULL && algo_unfit(left.algorithm, &in) != NULL)
		left.algorithm = NULL;
	if (options_choose(d->call, d->comm, &left, &in, &bound->instead) != CHOIR_SUCCESS)
		bound->instead = NULL; /* no algorithm can do both */
}

/* A plan that sends messages after all, out of buffers that are not one, is built again; so is one on the device, where
 * lists are not gathered. */
choir_status dense_plan_choose(const struct dense *d, const struct dense_options *options, struct bound *bound)
{
	struct algo_in *in = &bound->in;

	options_apply(options, in);
	/* Slots want room in the cache, too: where all fit it just, non-temporal stores are faster already. */
	in->nt = (d->send_bytes + d->recv_bytes) * (uint64_t)d->comm->layout.max_node_size > d->comm->cache_bytes / 2;
	TRY(take_plan(d, options, bound));
	if (bound->lists && bound->cached->plan.messages && (in->send_direct || in->recv_direct)) {
		in->send_direct &= bound->send.stage;
		in->recv_direct &= bound->recv.stage;
		TRY(take_plan(d, options, bound));
	}
	if (bound->lists && bound->cached->plan.device && (bound->send.stage || bound->recv.stage)) {
		dense_buffers_part_lists(d, bound);
		TRY(take_plan(d, options, bound));
	}
	cached_plan_lists(bound->cached, in);
	bound->instead = NULL;
	if (!bound->cached->plan.peers)
		return CHOIR_SUCCESS;
	dense_buffers_find_addresses(d, bound);
	choose_instead(d, options, bound);
	return CHOIR_SUCCESS;
}
