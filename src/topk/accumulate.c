/* SPDX-License-Identifier: MIT */
/* Note [one pass].  A tensor is larger than the caches, and each pass over it costs as much as the whole exchange: so
 * acc is made, searched for its large entries and stored block by block, and a block never leaves the first cache in
 * between.  acc goes to memory by nt stores: it is read again only where an entry is used. */
#include "topk/algorithm.h"
#include "topk/magnitude.h"
#include "topk/mark.h"

#include "base/copy.h"
#include "kern/convert.h"
#include "sparse/prefetch.h"

#include <math.h>
#include <string.h>

enum {
	BLOCK = 2048,               /* elements */
	NT_BYTES = 2 * 1024 * 1024, /* tensors above it are stored by nt stores */
	SAMPLED_PART = 16,          /* one element of so many is in a sample, but no fewer than so many: */
	LEAST_SAMPLES = 1024,
};

/* Elements from..from + n of the tensors. */
struct block {
	uint64_t from, n;
	uint64_t zeroed; /* of the state: the first that may lie in this block or behind it */
	_Alignas(64) double acc[BLOCK], grad[BLOCK]; /* in work */
	_Alignas(64) double given[BLOCK];            /* the gradient, where several tensors have parts of it */
};

static void prefetch_block(const void *tensor, uint64_t bytes)
{
	for (uint64_t off = 0; off < bytes; off += PREFETCH_PAGE)
		prefetch((const char *)tensor + off);
}

static const void *at(const void *tensor, uint64_t off)
{
	return tensor != NULL ? (const unsigned char *)tensor + off : NULL;
}

/* The tensor that has an element. */
static size_t tensor_of(const struct topk_request *request, uint64_t element)
{
	size_t low = 0, high = request->n_tensors;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (topk_grad(request, middle)->first <= element)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The caller's gradient of a block: where it is, or put together. */
static const void *find_grad(const struct topk_request *request, struct block *block, uint64_t elem_bytes)
{
	size_t i = tensor_of(request, block->from);
	uint64_t at = block->from, end = block->from + block->n;
	const struct operand *grad = topk_grad(request, i);

	if ((end - grad->first) * elem_bytes <= grad->bytes)
		return (const unsigned char *)grad->ptr + (at - grad->first) * elem_bytes;
	for (; at < end; grad = topk_grad(request, ++i)) {
		uint64_t part_end = grad->first + grad->bytes / elem_bytes;

		part_end = part_end < end ? part_end : end;
		if (part_end > at)
			memcpy((unsigned char *)block->given + (at - block->from) * elem_bytes,
			       (const unsigned char *)grad->ptr + (at - grad->first) * elem_bytes,
			       (part_end - at) * elem_bytes);
		at = part_end > at ? part_end : at;
	}
	return block->given;
}

/* Note [zeroed]: what left the residual of the block.  Blocks come in ascending order. */
static void restart(struct topk_run *run, struct block *block, const struct accumulation *what)
{
	const struct topk_zeroed *zeroed = &run->state->zeroed;
	const struct index_form form = run->types.form;
	uint64_t first, i = block->zeroed;

	while (i < zeroed->count && (uint64_t)index_at(zeroed->ind.ptr, form, i) < block->from)
		i++;
	for (first = i; i < zeroed->count && (uint64_t)index_at(zeroed->ind.ptr, form, i) < block->from + block->n;)
		i++;
	if (i > first)
		vector_restart(&run->types, (unsigned char *)zeroed->ind.ptr + first * form.bytes, i - first,
		               block->from, what);
	block->zeroed = i;
}

/* The operands of which a block of acc, and of momentum, is made; acc is at `to`. */
static struct accumulation accumulation_of(struct topk_run *run, struct block *block, void *to)
{
	const struct topk_settings *settings = &run->state->settings;
	uint64_t off = block->from * run->types.elem_bytes;

	return (struct accumulation){
		.residual = run->state->zeroed.all ? NULL : at(run->state->residual.near.ptr, off),
		.grad = find_grad(&run->request, block, choir_dtype_bytes(settings->dtype)),
		.old_velocity = at(run->state->velocity.near.ptr, off),
		.velocity = run->velocity.near.ptr != NULL ? (unsigned char *)run->velocity.near.ptr + off : NULL,
		.acc = to,
		.decay = settings->decay,
		.scale = settings->scale,
		.momentum = settings->momentum,
	};
}

/* Makes a block of acc, and of momentum, at `to`. */
static void make(struct topk_run *run, struct block *block, void *to)
{
	const struct topk_settings *settings = &run->state->settings;
	uint64_t bytes = block->n * run->types.elem_bytes, grad_bytes = choir_dtype_bytes(settings->dtype);
	struct accumulation what = accumulation_of(run, block, to);

	if (block->n == BLOCK) {
		if (what.residual != NULL)
			prefetch_block(what.residual, bytes);
		prefetch_block(what.grad, block->n * grad_bytes);
	}
	if (settings->dtype != run->types.work) {
		convert_values(run->types.work, block->grad, settings->dtype, what.grad, block->n);
		what.grad = block->grad;
	}
	vector_accumulate(run->types.work, block->n, &what);
	if (what.residual != NULL)
		restart(run, block, &what);
}

/* Behind the candidates that were found. */
static struct select_output room_left(const struct topk_run *run, uint64_t room)
{
	const struct topk_types *types = &run->types;
	const struct topk_list *found = &run->candidates.list;
	uint64_t n = found->count < room ? found->count : room;

	return (struct select_output){ .ind = (unsigned char *)found->ind.ptr + n * types->form.bytes,
		                       .form = types->form,
		                       .val = (unsigned char *)found->val.ptr + n * types->elem_bytes,
		                       .capacity = room - n };
}

/* The block's entries with a key >= least, behind those that were found; all are counted. */
static void collect(struct topk_run *run, const struct block *block, const void *acc, uint64_t room)
{
	struct topk_candidates *found = &run->candidates;
	struct select_input in = {
		.val = acc, .elem_bytes = run->types.elem_bytes, .n = block->n, .first = block->from
	};
	struct select_output out = room_left(run, room);

	found->list.count += select_host(&in, (struct select_limit){ .key = found->least, .ties = UINT64_MAX }, &out);
}

/* Note [marked blocks]. */
static bool may_mark(const struct topk_run *run)
{
	return run->state->settings.dtype == CHOIR_F32 && run->velocity.near.ptr == NULL &&
	       run->types.form.bytes == 4 && mark_is_supported();
}

/* A bit for each element of the block that left the residual. */
static void mark_gone(const struct topk_zeroed *zeroed, struct block *block, uint64_t *gone)
{
	const int32_t *ind = zeroed->ind.ptr;
	uint64_t i = block->zeroed;

	for (; i < zeroed->count && (uint64_t)ind[i] - block->from < block->n; i++) {
		uint64_t x = (uint64_t)ind[i] - block->from;

		gone[x / 64] |= UINT64_C(1) << x % 64;
	}
	block->zeroed = i;
}

/* Candidates go by way of the block where there is no room for as many as it may have. */
static void mark(struct topk_run *run, struct block *block, void *to, uint64_t room)
{
	struct topk_candidates *found = &run->candidates;
	struct select_output out = room_left(run, room);
	const bool fits = out.capacity >= BLOCK;
	uint64_t gone[BLOCK / 64] = { 0 }, count;
	struct accumulation what = accumulation_of(run, block, to);
	struct marking marking = { .gone = gone,
		                   .least = (uint32_t)found->least,
		                   .first = (int32_t)block->from,
		                   .ind = fits ? out.ind : (void *)block->grad,
		                   .val = fits ? out.val : (void *)block->acc };

	mark_gone(&run->state->zeroed, block, gone);
	count = mark_block(BLOCK, &what, &marking);
	found->list.count += count;
	if (fits)
		return;
	count = count < out.capacity ? count : out.capacity;
	memcpy(out.ind, marking.ind, count * sizeof *marking.ind);
	memcpy(out.val, marking.val, count * sizeof *marking.val);
}

static void accumulate(struct topk_run *run, uint64_t room)
{
	const uint64_t elem_bytes = run->types.elem_bytes;
	const bool nt = run->types.n * elem_bytes > NT_BYTES, marks = nt && room > 0 && may_mark(run);
	struct block block;

	block.zeroed = 0;
	for (block.from = 0; block.from < run->types.n; block.from += block.n) {
		unsigned char *to = (unsigned char *)run->acc.near.ptr + block.from * elem_bytes;
		void *acc = nt ? (void *)block.acc : to;

		block.n = run->types.n - block.from < BLOCK ? run->types.n - block.from : BLOCK;
		if (marks && block.n == BLOCK) {
			mark(run, &block, to, room);
			continue;
		}
		make(run, &block, acc);
		if (room > 0)
			collect(run, &block, acc, room);
		if (nt)
			copy_host_nt(to, acc, block.n * elem_bytes);
	}
	copy_host_fence();
}

static void look_for_nan(struct topk_run *run)
{
	uint64_t at = run->types.n;

	if (run->state->settings.nan_fails)
		at = vector_first_nan(&run->types, run->acc.near.ptr);
	run->nan_at = at < run->types.n ? at : UINT64_MAX;
}

choir_status near_accumulate(struct topk_run *run, topk_step then)
{
	run->step = then;
	TRY(topk_state_take(run->state, &run->acc, &run->velocity));
	accumulate(run, 0);
	look_for_nan(run);
	return CHOIR_SUCCESS;
}

choir_status near_accumulate_above(struct topk_run *run, uint64_t least, uint64_t room, topk_step then)
{
	struct topk_candidates *found = &run->candidates;

	run->step = then;
	TRY(topk_state_take(run->state, &run->acc, &run->velocity));
	TRY(list_take(&found->list, &run->types, room));
	found->least = least;
	accumulate(run, room);
	found->complete = found->list.count <= room;
	look_for_nan(run);
	return CHOIR_SUCCESS;
}

uint64_t topk_sample_count(const struct topk_run *run)
{
	uint64_t n = run->types.n, part = n / SAMPLED_PART;

	part = part > LEAST_SAMPLES ? part : LEAST_SAMPLES;
	part = part < SELECT_SAMPLES ? part : SELECT_SAMPLES;
	return part < n ? part : n;
}

/* One place of each stride, other ones in each call. */
uint64_t topk_sample_index(const struct topk_run *run, uint64_t count, uint64_t i)
{
	const uint64_t stride = run->types.n / count;

	return i * stride + (i + run->tracking.calls) % stride;
}

choir_status topk_sample_key(const struct topk_run *run, const void *values, uint64_t k, uint64_t *key_p)
{
	uint64_t count = topk_sample_count(run), rank = (uint64_t)((double)k / (double)run->types.n * (double)count),
		 most = magnitude_key(run->types.work, INFINITY);
	struct select_input in = { .val = values, .elem_bytes = run->types.elem_bytes, .n = count };
	struct select_limit limit;

	rank = rank < 1 ? 1 : rank < count ? rank : count;
	TRY(select_top_limit(&in, rank, &limit));
	*key_p = limit.key < 1 ? 1 : limit.key < most ? limit.key : most;
	return CHOIR_SUCCESS;
}

/* The sample of acc, before there is an acc. */
static choir_status sample(struct topk_run *run, uint64_t count, struct pool_block *block)
{
	const uint64_t elem_bytes = run->types.elem_bytes;
	struct block one = { .n = 1 };

	TRY(topk_state_take(run->state, &run->acc, &run->velocity)); /* samples of the momentum go there */
	TRY(pool_take(block, count * elem_bytes, "a sample"));
	for (uint64_t i = 0; i < count; i++) {
		one.from = topk_sample_index(run, count, i);
		make(run, &one, (unsigned char *)block->ptr + i * elem_bytes);
	}
	return CHOIR_SUCCESS;
}

choir_status near_accumulate_top(struct topk_run *run, uint64_t k, topk_step then)
{
	uint64_t n = run->types.n, rank = n > 0 ? select_pivot_rank(n, k) : 0;
	struct select_input in = { .elem_bytes = run->types.elem_bytes, .n = SELECT_SAMPLES };
	struct select_limit pivot;
	struct pool_block block;
	choir_status st;

	if (n <= SELECT_FEW || rank >= SELECT_SAMPLES)
		return near_accumulate(run, then);
	TRY(sample(run, SELECT_SAMPLES, &block));
	in.val = block.ptr;
	st = select_top_limit(&in, rank, &pivot);
	pool_give(&block);
	TRY(st);
	return near_accumulate_above(run, pivot.key, select_pivot_room(n, rank), then);
}

choir_status near_accumulate_sampled(struct topk_run *run, uint64_t k, uint64_t room, topk_step then)
{
	struct pool_block block;
	choir_status st;
	uint64_t key;

	if (run->types.n == 0)
		return near_accumulate(run, then);
	TRY(sample(run, topk_sample_count(run), &block));
	st = topk_sample_key(run, block.ptr, k, &key);
	pool_give(&block);
	TRY(st);
	return near_accumulate_above(run, key, room, then);
}
