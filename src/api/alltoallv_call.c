/* SPDX-License-Identifier: MIT */
/* choir_alltoallv: the start of its script, or of a plan for the counts of an earlier call.
 *
 * Note [agreed counts].  Most programs make the same exchange again and again.  So the comm keeps the counts of all
 * ranks from an alltoallv, with the prepared call of its key.  A rank whose own counts are the same proposes them:
 * their hash stands in the call's record, where a rank that does not has 0.  It goes on with the plan for them as if it
 * were any dense collective's.  Before a rank of that plan reads a peer's bytes it has waited for all ranks and
 * compared all records, so if one differs then all of them find that, and all become scripts, which gather the counts
 * anew. */
#include "api/alltoallv_script.h"

#include "api/alltoallv_args.h"
#include "api/counts.h"
#include "api/dense.h"
#include "api/request.h"
#include "api/start.h"
#include "exec/call_cache.h"
#include "exec/engine.h"
#include "exec/record.h"

#include <stdlib.h>

/* --- the script --- */

/* The call of that key has its counts from now on.  Driver only. */
static void keep_counts(struct run *run, struct counts *counts)
{
	struct prepared *learnt;

	if (prepared_create(run->comm, &run->prepared->key, 0, &learnt) != CHOIR_SUCCESS) {
		segments_release(&counts->owner);
		return;
	}
	learnt->owner = &counts->owner;
	call_cache_keep(run->comm, learnt);
	prepared_release(learnt);
}

static void ended(struct run *run, bool drives)
{
	const struct algorithm *algorithm = alltoallv_script_algorithm(run->script.state);
	struct counts *counts = NULL;

	run->event->algorithm = algorithm != NULL ? algorithm->name : "";
	if (run->status == CHOIR_SUCCESS && run->comm->layout.n_nodes == 1 &&
	    counts_may_differ(run->comm, run->event->algorithm))
		counts = counts_create(run->comm, alltoallv_script_matrix(run->script.state));
	if (counts == NULL)
		return;
	if (!drives && !engine_enter(&run->comm->engine)) { /* the next call gathers them again */
		segments_release(&counts->owner);
		return;
	}
	keep_counts(run, counts);
	if (!drives)
		engine_leave(&run->comm->engine);
}

static choir_status make_script(struct run *run, const struct alltoallv_args *args)
{
	struct choir_comm *comm = run->comm;
	const struct call_key *key = args->key;
	struct script_env env = script_env_of(comm);
	struct alltoallv_script_args script = { .elem_bytes = choir_dtype_bytes(key->dtype),
		                                .send = &args->send,
		                                .recv = &args->recv,
		                                .comm = comm,
		                                .options = args->options };

	TRY(dev_resolve(comm->device, key->send, args->send.extent, false, &script.send_access));
	TRY(dev_resolve(comm->device, key->recv, args->recv.extent, true, &script.recv_access));
	TRY(alltoallv_script_create(&env, &script, &run->script.ops, &run->script.state));
	run->script.ended = ended;
	return CHOIR_SUCCESS;
}

/* The ranks do not agree on the counts that this one has proposed. */
static choir_status become_script(struct run *run)
{
	struct alltoallv_args args;
	choir_status st = alltoallv_args_read(run->comm, &run->prepared->key, &args);

	if (st == CHOIR_SUCCESS)
		st = make_script(run, &args);
	alltoallv_args_fini(&args);
	return st;
}

/* Elements that this rank sends. */
static uint64_t sent_count(const struct alltoallv_args *args)
{
	return args->send.total / choir_dtype_bytes(args->key->dtype);
}

static const char *asked(const struct alltoallv_args *args)
{
	return args->options.algorithm != NULL ? args->options.algorithm->name : "auto";
}

static choir_status fill_script_run(struct run *run, const struct alltoallv_args *args, const choir_call *call)
{
	TRY(run_set_call(run, call, args->key->form->name));
	run->bound.dtype = args->key->dtype;
	run->bound.record =
	    (struct call_record){ .collective = COLLECTIVE_ALLTOALLV, .dtype = (uint8_t)args->key->dtype };
	record_set_algorithm(&run->bound.record, asked(args));
	run->bound.my_count = sent_count(args);
	run->bound.become_script = become_script; /* which it is already: others may propose counts */
	TRY(prepared_create(args->comm, args->key, 0, &run->prepared));
	TRY(run_keep(run, args->send.extent > 0 ? args->key->send : choir_none()));
	TRY(run_keep(run, args->recv.extent > 0 ? args->key->recv : choir_none()));
	return make_script(run, args);
}

static choir_status start_script(const struct alltoallv_args *args, const choir_call *call, choir_event **event_p)
{
	struct run *run;

	TRY(run_create(args->comm, &run));
	return call_start(args->key->form->name, run, fill_script_run(run, args, call), event_p);
}

/* --- with the counts of an earlier call --- */

/* A reference to counts of the comm in which this rank has the same as in the arguments; NULL if there are none. */
static struct counts *find_counts(const struct alltoallv_args *args)
{
	struct prepared *like;
	struct counts *counts = NULL;

	if (!engine_enter(&args->comm->engine))
		return NULL;
	like = args->comm->engine.closed ? NULL : call_cache_like(args->comm, args->key);
	if (like != NULL)
		counts = (struct counts *)segments_retain(like->owner);
	engine_leave(&args->comm->engine);
	if (counts == NULL || counts_are_mine(counts, args->comm, args->send.bytes, args->send.off, args->recv.bytes))
		return counts;
	segments_release(&counts->owner);
	return NULL;
}

static bool is_direct(const struct alltoallv_args *args)
{
	struct dev_access send, recv;

	return dev_resolve(args->comm->device, args->key->send, args->send.extent, false, &send) == CHOIR_SUCCESS &&
	       dev_resolve(args->comm->device, args->key->recv, args->recv.extent, true, &recv) == CHOIR_SUCCESS &&
	       send.direct && recv.direct;
}

/* Takes the reference to the counts. */
static choir_status prepare_proposal(struct alltoallv_args *args, struct counts *counts, const choir_call *call,
                                     struct prepared **out_p)
{
	const struct call_key *key = args->key;
	struct dense d = { .call = key->form->name,
		           .collective = COLLECTIVE_ALLTOALLV,
		           .comm = args->comm,
		           .send = key->send,
		           .recv = key->recv,
		           .send_bytes = args->send.extent,
		           .recv_bytes = args->recv.extent,
		           .dtype = key->dtype,
		           .block_bytes = counts->matrix,
		           .send_off = counts->off,
		           .recv_off = args->recv.off,
		           .mean_bytes = counts->mean,
		           .hash = counts->hash,
		           .asked = asked(args),
		           .become_script = become_script };
	choir_status st = dense_prepare_part(&d, key, call, out_p);

	if (st != CHOIR_SUCCESS) {
		segments_release(&counts->owner);
		return st;
	}
	(*out_p)->owner = &counts->owner;
	(*out_p)->parts[0].bound.my_count = sent_count(args);
	return CHOIR_SUCCESS;
}

/* Ranks of the plan wait for all others, and compare records, before they touch a buffer.  On the device the engine
 * finds buffers that are elsewhere; any other plan wants the host to reach them. */
static bool may_propose(const struct alltoallv_args *args, const struct plan *plan)
{
	return counts_may_differ(args->comm, plan->algorithm) && (plan->device || is_direct(args));
}

/* *done: it was proposed, and has started; without an event and outside groups it is over. */
static choir_status propose(struct alltoallv_args *args, const choir_call *call, choir_event **event_p, bool *done)
{
	struct counts *counts = find_counts(args);
	struct prepared *prepared;
	choir_status st;

	*done = false;
	if (counts == NULL)
		return CHOIR_SUCCESS;
	if (!is_direct(args) && args->comm->device_bytes == 0) {
		segments_release(&counts->owner);
		return CHOIR_SUCCESS;
	}
	if (prepare_proposal(args, counts, call, &prepared) != CHOIR_SUCCESS)
		return CHOIR_SUCCESS; /* ranks that know no counts would not say so: all find it in the script */
	if (!may_propose(args, &prepared->parts[0].bound.cached->plan)) {
		prepared_release(prepared);
		return CHOIR_SUCCESS;
	}
	start_keep(args->comm, prepared);
	*done = true;
	st = start_prepared(args->comm, prepared, call, event_p, NULL);
	prepared_release(prepared);
	return st;
}

/* The kernels that SVM may need are built before the call begins, within its deadline. */
static choir_status warm_svm(const struct alltoallv_args *args, const choir_call *call)
{
	const struct call_key *key = args->key;
	struct dev_access access;
	choir_status st;

	if (key->send.kind != CHOIR_BUFFER_SVM && key->recv.kind != CHOIR_BUFFER_SVM)
		return CHOIR_SUCCESS;
	call_builds_begin(args->comm, call);
	st = dev_resolve(args->comm->device, key->send, args->send.extent, false, &access);
	if (st == CHOIR_SUCCESS)
		st = dev_resolve(args->comm->device, key->recv, args->recv.extent, true, &access);
	if (st != CHOIR_SUCCESS)
		st = error_prefix(st, "%s", key->form->name);
	return call_builds_end(args->comm, st);
}

static choir_status start_args(struct alltoallv_args *args, const choir_call *call, choir_event **event_p)
{
	bool done;

	TRY(alltoallv_args_check(args));
	TRY(call_may_start(args->key->form->name, args->comm, event_p));
	TRY(warm_svm(args, call));
	TRY(propose(args, call, event_p, &done));
	return done ? CHOIR_SUCCESS : start_script(args, call, event_p);
}

static choir_status start_anew(choir_comm *comm, const struct call_key *key, const choir_call *call,
                               choir_event **event_p)
{
	struct alltoallv_args args;
	choir_status st = alltoallv_args_read(comm, key, &args);

	if (st == CHOIR_SUCCESS)
		st = start_args(&args, call, event_p);
	alltoallv_args_fini(&args);
	return st;
}

static const struct call_form alltoallv = { .name = "choir_alltoallv",
	                                    .collective = COLLECTIVE_ALLTOALLV,
	                                    .start = start_anew };

choir_status choir_alltoallv(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                             const size_t *send_displacements, choir_buffer recv, const size_t *recv_counts,
                             const size_t *recv_displacements, choir_dtype dtype, const choir_call *given,
                             choir_event **event_p)
{
	struct call_key key = { .form = &alltoallv,
		                .send = send,
		                .recv = recv,
		                .dtype = dtype,
		                .lists = { send_counts, send_displacements, recv_counts, recv_displacements } };

	return start_call(comm, &key, given, event_p);
}

/* --- kept --- */

struct kept_alltoallv {
	struct kept_call base; /* first */
	struct call_key key;   /* its lists are in `room` */
	void *room;
};

static choir_status check_kept(struct kept_call *base, choir_comm *comm, const choir_call *call)
{
	struct kept_alltoallv *kept = (struct kept_alltoallv *)base;
	struct call_key key = kept->key;
	struct alltoallv_args args;
	choir_status st;

	key.options = call->options;
	st = alltoallv_args_read(comm, &key, &args);
	if (st == CHOIR_SUCCESS)
		st = alltoallv_args_check(&args);
	if (st == CHOIR_SUCCESS && args.send.extent > 0)
		base->buffers[0] = key.send;
	if (st == CHOIR_SUCCESS && args.recv.extent > 0)
		base->buffers[1] = key.recv;
	alltoallv_args_fini(&args);
	return st;
}

static choir_status start_kept(struct kept_call *base, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct call_key key = ((struct kept_alltoallv *)base)->key;

	return start_call(comm, &key, call, event_p);
}

static void destroy_kept(struct kept_call *base)
{
	free(((struct kept_alltoallv *)base)->room);
	free(base);
}

choir_status choir_alltoallv_init(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                  const size_t *send_displacements, choir_buffer recv, const size_t *recv_counts,
                                  const size_t *recv_displacements, choir_dtype dtype, const choir_call *call,
                                  choir_request **request_p)
{
	struct call_key key = { .form = &alltoallv,
		                .send = send,
		                .recv = recv,
		                .dtype = dtype,
		                .lists = { send_counts, send_displacements, recv_counts, recv_displacements } };
	struct kept_alltoallv *kept;
	choir_status st;

	TRY(request_named(call_check_comm(alltoallv.name, comm), alltoallv.name, call));
	kept = calloc(1, sizeof *kept);
	if (kept == NULL)
		return error_no_memory("a persistent call", sizeof *kept);
	kept->base = (struct kept_call){ alltoallv.name, check_kept, start_kept, destroy_kept, 0, { choir_none() } };
	st = call_key_copy(&key, comm->n, &kept->key, &kept->room);
	if (st != CHOIR_SUCCESS) {
		destroy_kept(&kept->base);
		return st;
	}
	return request_keep(comm, &kept->base, call, request_p);
}
