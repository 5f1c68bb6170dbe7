/* SPDX-License-Identifier: MIT */
#include "topk/state.h"

#include "topk/algorithm.h"

#include "sparse/dense.h"
#include "sparse/select_kernel.h"
#include "topk/operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Of a tensor that is worth kernels; so many a state has on the device at most, with a momentum. */
enum { FAR_BYTES = 256 * 1024, FAR_TENSORS = 4 };

static const struct topk_preset presets[] = {
	{ "lstm", 128, 32, 64, { 32, 1.5, 3. / 4, 5. / 4, 1.012 }, 3. / 4, 5. / 4, 1.010, 1.008 },
	{ "vgg", 512, 32, 64, { 32, 4. / 3, 2. / 3, 5. / 4, 1.012 }, 2. / 3, 4. / 3, 1.008, 1.008 },
	{ "bert", 0, 128, 64, { 128, 0, 4. / 5, 5. / 4, 1.025 }, 4. / 5, 5. / 4, 1.036, 1.025 },
};

const struct topk_preset *topk_preset_find(const char *name)
{
	if (name == NULL)
		return &presets[0];
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
		if (strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

static uint64_t tensor_bytes(const struct topk_state *state)
{
	return state->settings.types.n * state->settings.types.elem_bytes;
}

static bool has_momentum(const struct topk_state *state)
{
	return state->settings.momentum > 0;
}

/* Zeros where there are no bytes. */
static choir_status fill_tensor(const struct topk_state *state, struct topk_tensor *tensor, const unsigned char *bytes)
{
	cl_event event = NULL;

	if (bytes != NULL)
		return tensor_write(tensor, state->device, tensor_bytes(state), bytes);
	TRY(tensor_zero(tensor, state->device, tensor_bytes(state), state->settings.types.elem_bytes));
	if (tensor->far != NULL)
		TRY(dev_marker(dev_queue(state->device), &event));
	return dev_wait(&event);
}

/* Residual and momentum become these bytes, or zero: both or neither. */
static choir_status replace_tensors(struct topk_state *state, const unsigned char *bytes)
{
	struct topk_tensor residual = { .far = NULL }, velocity = residual;
	choir_status st = topk_state_take(state, &residual, &velocity);

	if (st == CHOIR_SUCCESS)
		st = fill_tensor(state, &residual, bytes);
	if (st == CHOIR_SUCCESS && has_momentum(state))
		st = fill_tensor(state, &velocity, bytes != NULL ? bytes + tensor_bytes(state) : NULL);
	if (st == CHOIR_SUCCESS) {
		tensor_swap(&state->residual, &residual);
		tensor_swap(&state->velocity, &velocity);
	}
	tensor_give(&residual);
	tensor_give(&velocity);
	return st;
}

static size_t bounds_bytes(const struct topk_state *state)
{
	return ((size_t)state->ranks + 1) * sizeof *state->bounds;
}

static choir_status clear(struct topk_state *state)
{
	if (state->device != NULL)
		TRY(replace_tensors(state, NULL));
	state->zeroed.all = state->device == NULL;
	state->zeroed.count = 0;
	state->tracking = (struct topk_tracking){ .local = -1, .global = -1 };
	memset(state->bounds, 0, bounds_bytes(state));
	return CHOIR_SUCCESS;
}

/* Kernels count elements in 32 bits, and each tensor of the state stands in one buffer.  A small tensor has crossed the
 * bus before a dozen launches have begun. */
static bool kernels_fit(choir_device *device, const struct topk_types *types)
{
	uint64_t least = dev_reduce_where(device) == CHOIR_REDUCE_KERNEL ? 1 : FAR_BYTES,
		 work_bytes = choir_dtype_bytes(types->work);

	return choir_device_class(device) == CHOIR_CLASS_STAGE && operand_kernels_run(device) &&
	       types->n <= SELECT_MOST && types->n * types->elem_bytes >= least &&
	       types->n <= dev_most_buffer_bytes(device) / work_bytes &&
	       types->n <= dev_memory_bytes(device) / (FAR_TENSORS * work_bytes) &&
	       (types->work == CHOIR_F64 ? dev_has_fp64(device) : dev_keeps_denormals(device));
}

static choir_status fill(struct topk_state *state, const struct topk_settings *settings)
{
	size_t bytes = settings->n_densities * sizeof(double);

	state->settings = *settings;
	state->settings.densities = NULL;
	if (bytes > 0) {
		state->settings.densities = malloc(bytes);
		if (state->settings.densities == NULL)
			return error_no_memory("the densities of a top-k state", bytes);
		memcpy(state->settings.densities, settings->densities, bytes);
	}
	state->bounds = calloc((size_t)state->ranks + 1, sizeof *state->bounds);
	if (state->bounds == NULL)
		return error_no_memory("the regions of a top-k state", (size_t)state->ranks * sizeof *state->bounds);
	if (state->device == NULL)
		TRY(topk_state_take(state, &state->residual, &state->velocity));
	return clear(state);
}

choir_status topk_state_create(const struct topk_settings *settings, choir_device *device, int ranks, int rank,
                               struct topk_state **out_p)
{
	struct topk_state *state = calloc(1, sizeof *state);
	choir_status st;

	if (state == NULL)
		return error_no_memory("a top-k state", sizeof *state);
	atomic_init(&state->refs, 1);
	pthread_mutex_init(&state->lock, NULL);
	state->ranks = ranks;
	state->rank = rank;
	if (kernels_fit(device, &settings->types))
		state->device = dev_retain(device);
	st = fill(state, settings);
	if (st != CHOIR_SUCCESS) {
		topk_state_release(state);
		return st;
	}
	*out_p = state;
	return CHOIR_SUCCESS;
}

struct topk_state *topk_state_retain(struct topk_state *state)
{
	atomic_fetch_add(&state->refs, 1);
	return state;
}

void topk_state_release(struct topk_state *state)
{
	if (state == NULL || atomic_fetch_sub(&state->refs, 1) != 1)
		return;
	tensor_give(&state->residual);
	tensor_give(&state->velocity);
	tensor_give(&state->spare[0]);
	tensor_give(&state->spare[1]);
	pool_give(&state->zeroed.ind);
	choir_device_destroy(state->device);
	pthread_mutex_destroy(&state->lock);
	free(state->settings.densities);
	free(state->bounds);
	free(state);
}

/* far: takes the buffer that the last call left, if that ended well. */
static choir_status take_tensor(struct topk_state *state, struct topk_tensor *tensor, struct topk_tensor *spare,
                                const char *what)
{
	if (spare->far == NULL)
		return tensor_take(tensor, state->device, tensor_bytes(state), what);
	tensor_swap(tensor, spare);
	return CHOIR_SUCCESS;
}

choir_status topk_state_take(struct topk_state *state, struct topk_tensor *acc, struct topk_tensor *velocity)
{
	if (acc->near.ptr != NULL || acc->far != NULL)
		return CHOIR_SUCCESS;
	TRY(take_tensor(state, acc, &state->spare[0], "a residual of a top-k state"));
	return has_momentum(state) ? take_tensor(state, velocity, &state->spare[1], "a momentum of a top-k state")
	                           : CHOIR_SUCCESS;
}

bool topk_state_is_dense(const struct topk_settings *settings, uint64_t call)
{
	return call < settings->dense_calls;
}

uint64_t topk_state_k(const struct topk_settings *settings, uint64_t call)
{
	uint64_t n = settings->types.n, k = settings->k, at;
	double density = settings->density;

	if (settings->n_densities > 0) {
		at = call / settings->calls_per_density;
		density = settings->densities[at < settings->n_densities ? at : settings->n_densities - 1];
		k = 0;
	}
	if (k == 0)
		k = (uint64_t)(density * (double)n);
	if (k == 0)
		k = 1;
	return k < n ? k : n;
}

uint64_t topk_state_hash(const struct topk_state *state)
{
	const struct topk_settings *s = &state->settings;
	XXH64_hash_t hash = XXH64(s->densities, s->n_densities * sizeof(double), 0);
	double numbers[] = { s->density, s->decay, s->momentum, s->reuse.low, s->reuse.high, s->reuse.factor };
	uint64_t parts[] = { s->types.n,
		             (uint64_t)s->dtype,
		             (uint64_t)(s->algorithm - topk_algorithms),
		             s->calls_per_density,
		             s->k,
		             s->dense_calls,
		             (uint64_t)s->op,
		             (uint64_t)(s->preset - presets),
		             s->nan_fails,
		             (uint64_t)s->policy,
		             s->reuse.period,
		             (uint64_t)s->types.wire,
		             s->sends_in_flight };

	hash = XXH64(numbers, sizeof numbers, hash);
	return XXH64(parts, sizeof parts, hash);
}

/* Lock held on success. */
static choir_status enter(const char *call, struct topk_state *state)
{
	pthread_mutex_lock(&state->lock);
	if (state->first == NULL)
		return CHOIR_SUCCESS;
	pthread_mutex_unlock(&state->lock);
	return error_set(CHOIR_ARGUMENT, "%s: a call of the state is under way", call);
}

choir_status topk_state_reset(const char *call, struct topk_state *state)
{
	choir_status st;

	TRY(enter(call, state));
	st = clear(state);
	pthread_mutex_unlock(&state->lock);
	return st;
}

/* Residual or velocity, as it is (Note [zeroed] in near.c). */
static choir_status read_tensor(const struct topk_state *state, const struct topk_tensor *tensor, void *to)
{
	const struct topk_types *types = &state->settings.types;

	if (state->zeroed.all) {
		if (tensor_bytes(state) > 0)
			memset(to, 0, tensor_bytes(state));
		return CHOIR_SUCCESS;
	}
	TRY(tensor_read(tensor, state->device, tensor_bytes(state), to));
	dense_zero(state->zeroed.ind.ptr, types->form, state->zeroed.count, types->elem_bytes, 0, to);
	return CHOIR_SUCCESS;
}

choir_status topk_state_residual(const char *call, struct topk_state *state, void *to)
{
	choir_status st;

	TRY(enter(call, state));
	st = read_tensor(state, &state->residual, to);
	pthread_mutex_unlock(&state->lock);
	return st;
}

/* The exported form: numbers of 8 bytes, then the bounds, the residual and the momentum, all little endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the exported form is written as it is in memory");

struct exported {
	char magic[8];
	uint64_t version, count, dtype, algorithm, ranks, momentum;
	uint64_t calls, cut;
	double local, global;
};

static struct exported exported_of(const struct topk_state *state)
{
	const struct topk_settings *s = &state->settings;

	return (struct exported){ .magic = "choirtk",
		                  .version = 1,
		                  .count = s->types.n,
		                  .dtype = (uint64_t)s->dtype,
		                  .algorithm = XXH64(s->algorithm->name, strlen(s->algorithm->name), 0),
		                  .ranks = (uint64_t)state->ranks,
		                  .momentum = s->momentum > 0,
		                  .calls = state->tracking.calls,
		                  .cut = state->tracking.cut,
		                  .local = state->tracking.local,
		                  .global = state->tracking.global };
}

static size_t exported_bytes(const struct topk_state *state)
{
	return sizeof(struct exported) + bounds_bytes(state) + tensor_bytes(state) * (has_momentum(state) ? 2 : 1);
}

static void copy_part(unsigned char **at, const void *from, size_t bytes)
{
	if (bytes > 0)
		memcpy(*at, from, bytes);
	*at += bytes;
}

choir_status topk_state_export(const char *call, struct topk_state *state, void *bytes, size_t *bytes_p)
{
	size_t room = *bytes_p;
	struct exported head;
	unsigned char *at = bytes;
	choir_status st;

	*bytes_p = exported_bytes(state);
	if (bytes == NULL)
		return CHOIR_SUCCESS;
	if (room < *bytes_p)
		return error_set(CHOIR_CAPACITY, "%s: %zu bytes, and room for %zu", call, *bytes_p, room);
	TRY(enter(call, state));
	head = exported_of(state);
	copy_part(&at, &head, sizeof head);
	copy_part(&at, state->bounds, bounds_bytes(state));
	st = read_tensor(state, &state->residual, at);
	if (st == CHOIR_SUCCESS && has_momentum(state))
		st = read_tensor(state, &state->velocity, at + tensor_bytes(state));
	pthread_mutex_unlock(&state->lock);
	return st;
}

static choir_status check_exported(const char *call, const struct topk_state *state, const struct exported *head,
                                   size_t n_bytes)
{
	struct exported mine = exported_of(state);
	size_t differs_to = offsetof(struct exported, calls);

	if (memcmp(head->magic, mine.magic, sizeof mine.magic) != 0)
		return error_set(CHOIR_ARGUMENT, "%s: the bytes are no top-k state", call);
	if (head->version != mine.version)
		return error_set(CHOIR_ARGUMENT, "%s: version %" PRIu64 "; this library knows version 1", call,
		                 head->version);
	if (memcmp(head, &mine, differs_to) != 0)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: a state of another count, dtype, algorithm, momentum or number of ranks", call);
	if (n_bytes != exported_bytes(state))
		return error_set(CHOIR_ARGUMENT, "%s: %zu bytes instead of %zu", call, n_bytes, exported_bytes(state));
	return CHOIR_SUCCESS;
}

/* Regions as a call leaves them: ascending, up to the tensor's end where they were cut. */
static bool are_bounds(const struct topk_state *state, const struct exported *head, const unsigned char *bounds)
{
	uint64_t last = 0, bound;

	for (int r = 0; r <= state->ranks; r++) {
		memcpy(&bound, bounds + (size_t)r * sizeof bound, sizeof bound);
		if (bound < last || bound > head->count || (r == 0 && bound > 0))
			return false;
		last = bound;
	}
	return head->cut == 0 || last == head->count;
}

choir_status topk_state_import(const char *call, struct topk_state *state, const void *bytes, size_t n_bytes)
{
	const unsigned char *at = bytes;
	struct exported head;
	choir_status st;

	if (n_bytes < sizeof head)
		return error_set(CHOIR_ARGUMENT, "%s: the bytes are no top-k state", call);
	memcpy(&head, at, sizeof head);
	TRY(check_exported(call, state, &head, n_bytes));
	if (!are_bounds(state, &head, at + sizeof head))
		return error_set(CHOIR_ARGUMENT, "%s: the ranks' regions in the bytes are none", call);
	TRY(enter(call, state));
	st = replace_tensors(state, at + sizeof head + bounds_bytes(state));
	if (st == CHOIR_SUCCESS) {
		state->zeroed.count = 0;
		state->zeroed.all = false;
		state->tracking = (struct topk_tracking){
			.calls = head.calls, .local = head.local, .global = head.global, .cut = head.cut != 0
		};
		memcpy(state->bounds, at + sizeof head, bounds_bytes(state));
	}
	pthread_mutex_unlock(&state->lock);
	return st;
}
