/* SPDX-License-Identifier: MIT */
/* A tensor's state between calls: settings, residual, thresholds. */
#ifndef TOPK_STATE_H
#define TOPK_STATE_H

#include "topk/list.h"
#include "topk/tensor.h"

#include <choir/topk.h>
#include <pthread.h>

struct topk_algorithm;
struct topk_run;
struct script_turn;

typedef choir_status (*topk_step)(struct topk_run *run, struct script_turn *turn);

/* When the local threshold is found anew, and how it moves in between; bands as parts of k. */
struct topk_reuse {
	uint64_t period;
	double probe; /* more than so many k above the threshold: it is raised; 0 = no probing */
	double low, high, factor;
};

/* Constants of oktopk: periods in calls, bands as parts of k. */
struct topk_preset {
	const char *name;
	uint64_t dense_calls;
	uint64_t global_period, cut_period;
	struct topk_reuse local;
	double global_low, global_high, global_down, global_up;
};

/* topk_preset_find: NULL if there is none of that name. */
const struct topk_preset *topk_preset_find(const char *name);

struct topk_settings {
	struct topk_types types;
	choir_dtype dtype; /* the caller's */
	const struct topk_algorithm *algorithm;
	topk_step select; /* the algorithm's, unless a policy was asked for */
	choir_topk_threshold policy;
	struct topk_reuse reuse;
	const struct topk_preset *preset;
	double density, decay, scale, momentum;
	double *densities; /* [n_densities], the state's */
	uint64_t n_densities, calls_per_density, k, dense_calls, sends_in_flight;
	choir_op op;
	bool nan_fails;
};

/* Values that calls learn, and the next ones use. */
struct topk_tracking {
	uint64_t calls;
	double local, global; /* thresholds; negative = not known yet */
	bool cut;             /* bounds are there */
};

/* Ascending indices; or all elements. */
struct topk_zeroed {
	struct pool_block ind;
	uint64_t count;
	bool all;
};

struct topk_state {
	_Atomic int refs; /* the caller's and one a call under way */
	int ranks, rank;
	struct topk_settings settings;
	choir_device *device;   /* a reference: kernels do the work, and the tensors are there; NULL = the host */
	pthread_mutex_t lock;   /* the list of calls */
	struct topk_run *first; /* calls under way or waiting for their turn, in order */
	/* of the call whose turn it is */
	struct topk_tracking tracking;
	struct topk_tensor residual, velocity; /* velocity only with momentum */
	struct topk_tensor spare[2];           /* far: memory of the last call, for acc and momentum of the next one */
	/* near: residual and velocity are zero at these indices, whatever their memory holds (Note [zeroed]) */
	struct topk_zeroed zeroed;
	uint64_t *bounds; /* [ranks + 1] of oktopk's regions */
};

/* topk_state_create: the tensors are on the device if the host does not reach its memory and kernels do such work. */
choir_status topk_state_create(const struct topk_settings *settings, choir_device *device, int ranks, int rank,
                               struct topk_state **out_p);
struct topk_state *topk_state_retain(struct topk_state *state);
void topk_state_release(struct topk_state *state);

/* topk_state_take: acc, and momentum with momentum, for the call whose turn it is; what is there already stays. */
choir_status topk_state_take(struct topk_state *state, struct topk_tensor *acc, struct topk_tensor *velocity);

/* topk_state_k: of the next call.  topk_state_is_dense: is it a warm-up call? */
uint64_t topk_state_k(const struct topk_settings *settings, uint64_t call);
bool topk_state_is_dense(const struct topk_settings *settings, uint64_t call);

/* topk_state_hash: of what ranks must give alike. */
uint64_t topk_state_hash(const struct topk_state *state);

/* While no call is under way; else ARGUMENT naming `call`. */
choir_status topk_state_reset(const char *call, struct topk_state *state);
choir_status topk_state_export(const char *call, struct topk_state *state, void *bytes, size_t *bytes_p);
choir_status topk_state_import(const char *call, struct topk_state *state, const void *bytes, size_t n_bytes);
choir_status topk_state_residual(const char *call, struct topk_state *state, void *to);

#endif
