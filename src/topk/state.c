/* SPDX-License-Identifier: MIT */
#include "topk/state.h"

#include "topk/algorithm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const struct topk_preset presets[] = {
	{ "lstm", 128, 32, 32, 64, 1.5, 3. / 4, 5. / 4, 1.012, 3. / 4, 5. / 4, 1.010, 1.008 },
	{ "vgg", 512, 32, 32, 64, 4. / 3, 2. / 3, 5. / 4, 1.012, 2. / 3, 4. / 3, 1.008, 1.008 },
	{ "bert", 0, 128, 128, 64, 0, 4. / 5, 5. / 4, 1.025, 4. / 5, 5. / 4, 1.036, 1.025 },
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

static void clear(struct topk_state *state)
{
	state->tracking = (struct topk_tracking){ .local = -1, .global = -1 };
	memset(state->residual.ptr, 0, tensor_bytes(state));
	if (state->velocity.ptr != NULL)
		memset(state->velocity.ptr, 0, tensor_bytes(state));
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
	TRY(pool_take(&state->residual, tensor_bytes(state), "the residual of a top-k state"));
	if (settings->momentum > 0)
		TRY(pool_take(&state->velocity, tensor_bytes(state), "the momentum of a top-k state"));
	clear(state);
	return CHOIR_SUCCESS;
}

choir_status topk_state_create(const struct topk_settings *settings, int ranks, int rank, struct topk_state **out_p)
{
	struct topk_state *state = calloc(1, sizeof *state);
	choir_status st;

	if (state == NULL)
		return error_no_memory("a top-k state", sizeof *state);
	atomic_init(&state->refs, 1);
	pthread_mutex_init(&state->lock, NULL);
	state->ranks = ranks;
	state->rank = rank;
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
	pool_give(&state->residual);
	pool_give(&state->velocity);
	pthread_mutex_destroy(&state->lock);
	free(state->settings.densities);
	free(state->bounds);
	free(state);
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
	double numbers[] = { s->density, s->decay, s->momentum };
	uint64_t parts[] = { s->types.n,
		             (uint64_t)s->dtype,
		             (uint64_t)(s->algorithm - topk_algorithms),
		             s->calls_per_density,
		             s->k,
		             s->dense_calls,
		             (uint64_t)s->op,
		             (uint64_t)(s->preset - presets),
		             s->nan_fails };

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
	TRY(enter(call, state));
	clear(state);
	pthread_mutex_unlock(&state->lock);
	return CHOIR_SUCCESS;
}

choir_status topk_state_residual(const char *call, struct topk_state *state, void *to)
{
	TRY(enter(call, state));
	if (tensor_bytes(state) > 0)
		memcpy(to, state->residual.ptr, tensor_bytes(state));
	pthread_mutex_unlock(&state->lock);
	return CHOIR_SUCCESS;
}

/* The exported form: numbers of 8 bytes, then the bounds, the residual and the momentum, little endian as all we run
 * on. */
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

static size_t bounds_bytes(const struct topk_state *state)
{
	return ((size_t)state->ranks + 1) * sizeof *state->bounds;
}

static size_t exported_bytes(const struct topk_state *state)
{
	return sizeof(struct exported) + bounds_bytes(state) +
	       tensor_bytes(state) * (state->velocity.ptr != NULL ? 2 : 1);
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

	*bytes_p = exported_bytes(state);
	if (bytes == NULL)
		return CHOIR_SUCCESS;
	if (room < *bytes_p)
		return error_set(CHOIR_CAPACITY, "%s: %zu bytes, and room for %zu", call, *bytes_p, room);
	TRY(enter(call, state));
	head = exported_of(state);
	copy_part(&at, &head, sizeof head);
	copy_part(&at, state->bounds, bounds_bytes(state));
	copy_part(&at, state->residual.ptr, tensor_bytes(state));
	if (state->velocity.ptr != NULL)
		copy_part(&at, state->velocity.ptr, tensor_bytes(state));
	pthread_mutex_unlock(&state->lock);
	return CHOIR_SUCCESS;
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

choir_status topk_state_import(const char *call, struct topk_state *state, const void *bytes, size_t n_bytes)
{
	const unsigned char *at = bytes;
	struct exported head;

	if (n_bytes < sizeof head)
		return error_set(CHOIR_ARGUMENT, "%s: the bytes are no top-k state", call);
	memcpy(&head, at, sizeof head);
	TRY(check_exported(call, state, &head, n_bytes));
	TRY(enter(call, state));
	state->tracking = (struct topk_tracking){
		.calls = head.calls, .local = head.local, .global = head.global, .cut = head.cut != 0
	};
	at += sizeof head;
	memcpy(state->bounds, at, bounds_bytes(state));
	at += bounds_bytes(state);
	if (tensor_bytes(state) > 0)
		memcpy(state->residual.ptr, at, tensor_bytes(state));
	if (state->velocity.ptr != NULL && tensor_bytes(state) > 0)
		memcpy(state->velocity.ptr, at + tensor_bytes(state), tensor_bytes(state));
	pthread_mutex_unlock(&state->lock);
	return CHOIR_SUCCESS;
}
