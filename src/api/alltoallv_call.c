/* SPDX-License-Identifier: MIT */
/* choir_alltoallv: the start of its script, or of a plan for the counts of an earlier call.
 *
 * Note [agreed counts].  Most programs make the same exchange again and again.  So the comm keeps the counts of all
 * ranks from an alltoallv, with the prepared call of its key.  A rank whose own counts are the same proposes them:
 * their hash stands in the call's record, where a rank that does not has 0.  It goes on with the plan for them as if it
 * were any dense collective's.  Before a rank of that plan reads a peer's bytes it has waited for all ranks and
 * compared all records, so if one differs then all of them find that, and all become scripts, which gather the counts
 * anew. */
#include "api/alltoallv.h"

#include "api/alltoallv_request.h"
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
	const struct algorithm *algorithm = alltoallv_algorithm(run->script.state);
	struct counts *counts = NULL;

	run->event->algorithm = algorithm != NULL ? algorithm->name : "";
	if (run->status == CHOIR_SUCCESS && run->comm->layout.n_nodes == 1 &&
	    counts_may_differ(run->comm, run->event->algorithm))
		counts = counts_create(run->comm, alltoallv_matrix(run->script.state));
	if (counts == NULL)
		return;
	if (drives) {
		keep_counts(run, counts);
		return;
	}
	if (!engine_enter(&run->comm->engine)) { /* the next call gathers them again */
		segments_release(&counts->owner);
		return;
	}
	keep_counts(run, counts);
	engine_leave(&run->comm->engine);
}

static choir_status make_script(struct run *run, const struct alltoallv_request *r)
{
	struct choir_comm *comm = run->comm;
	const struct call_key *key = r->key;
	struct script_env env = script_env_of(comm);
	struct alltoallv_call script = { .elem_bytes = choir_dtype_bytes(key->dtype),
		                         .send = &r->send,
		                         .recv = &r->recv,
		                         .comm = comm,
		                         .options = r->options };

	TRY(dev_resolve(comm->device, key->send, r->send.extent, false, &script.send_access));
	TRY(dev_resolve(comm->device, key->recv, r->recv.extent, true, &script.recv_access));
	TRY(alltoallv_create(&env, &script, &run->script.ops, &run->script.state));
	run->script.ended = ended;
	return CHOIR_SUCCESS;
}

/* The ranks do not agree on the counts that this one has proposed. */
static choir_status become_script(struct run *run)
{
	struct alltoallv_request r;
	choir_status st = alltoallv_request_read(run->comm, &run->prepared->key, &r);

	if (st == CHOIR_SUCCESS)
		st = make_script(run, &r);
	alltoallv_request_fini(&r);
	return st;
}

static const char *asked(const struct alltoallv_request *r)
{
	return r->options.algorithm != NULL ? r->options.algorithm->name : "auto";
}

static choir_status fill_script_run(struct run *run, const struct alltoallv_request *r, const choir_call *call)
{
	TRY(run_set_call(run, call, r->key->form->name));
	run->bound.dtype = r->key->dtype;
	run->bound.record = (struct call_record){ .collective = COLLECTIVE_ALLTOALLV, .dtype = (uint8_t)r->key->dtype };
	record_set_algorithm(&run->bound.record, asked(r));
	run->bound.become_script = become_script; /* which it is already: others may propose counts */
	TRY(prepared_create(r->comm, r->key, 0, &run->prepared));
	TRY(run_keep(run, r->send.extent > 0 ? r->key->send : choir_none()));
	TRY(run_keep(run, r->recv.extent > 0 ? r->key->recv : choir_none()));
	return make_script(run, r);
}

static choir_status start_script(const struct alltoallv_request *r, const choir_call *call, choir_event **event_p)
{
	struct run *run;

	TRY(run_create(r->comm, &run));
	return call_start(r->key->form->name, run, fill_script_run(run, r, call), event_p);
}

/* --- with the counts of an earlier call --- */

/* A reference to counts of the comm in which this rank has the same as in the request; NULL if there are none. */
static struct counts *find_counts(const struct alltoallv_request *r)
{
	struct prepared *like;
	struct counts *counts = NULL;

	if (!engine_enter(&r->comm->engine))
		return NULL;
	like = r->comm->engine.closed ? NULL : call_cache_like(r->comm, r->key);
	if (like != NULL)
		counts = (struct counts *)segments_retain(like->owner);
	engine_leave(&r->comm->engine);
	if (counts == NULL || counts_are_mine(counts, r->comm, r->send.bytes, r->send.off, r->recv.bytes))
		return counts;
	segments_release(&counts->owner);
	return NULL;
}

static bool is_direct(const struct alltoallv_request *r)
{
	struct dev_access send, recv;

	return dev_resolve(r->comm->device, r->key->send, r->send.extent, false, &send) == CHOIR_SUCCESS &&
	       dev_resolve(r->comm->device, r->key->recv, r->recv.extent, true, &recv) == CHOIR_SUCCESS &&
	       send.direct && recv.direct;
}

/* Takes the reference to the counts. */
static choir_status prepare_proposal(struct alltoallv_request *r, struct counts *counts, const choir_call *call,
                                     struct prepared **out_p)
{
	const struct call_key *key = r->key;
	struct dense d = { .call = key->form->name,
		           .collective = COLLECTIVE_ALLTOALLV,
		           .comm = r->comm,
		           .send = key->send,
		           .recv = key->recv,
		           .send_bytes = r->send.extent,
		           .recv_bytes = r->recv.extent,
		           .dtype = key->dtype,
		           .block_bytes = counts->matrix,
		           .send_off = counts->off,
		           .recv_off = r->recv.off,
		           .mean_bytes = counts->mean,
		           .hash = counts->hash,
		           .asked = asked(r),
		           .become_script = become_script };
	choir_status st = dense_prepare_part(&d, key, call, out_p);

	if (st == CHOIR_SUCCESS)
		(*out_p)->owner = &counts->owner;
	else
		segments_release(&counts->owner);
	return st;
}

/* Ranks of the plan wait for all others, and compare records, before they touch a buffer.  On the device the engine
 * finds buffers that are elsewhere; any other plan wants the host to reach them. */
static bool may_propose(const struct alltoallv_request *r, const struct plan *plan)
{
	return counts_may_differ(r->comm, plan->algorithm) && (plan->device || is_direct(r));
}

/* *done: it was proposed, and has started; without an event and outside groups it is over. */
static choir_status propose(struct alltoallv_request *r, const choir_call *call, choir_event **event_p, bool *done)
{
	struct counts *counts = find_counts(r);
	struct prepared *prepared;
	choir_status st;

	*done = false;
	if (counts == NULL)
		return CHOIR_SUCCESS;
	if (!is_direct(r) && r->comm->device_bytes == 0) {
		segments_release(&counts->owner);
		return CHOIR_SUCCESS;
	}
	if (prepare_proposal(r, counts, call, &prepared) != CHOIR_SUCCESS)
		return CHOIR_SUCCESS; /* ranks that know no counts would not say so: all find it in the script */
	if (!may_propose(r, &prepared->parts[0].bound.cached->plan)) {
		prepared_release(prepared);
		return CHOIR_SUCCESS;
	}
	start_keep(r->comm, prepared);
	*done = true;
	st = start_prepared(r->comm, prepared, call, event_p, NULL);
	prepared_release(prepared);
	return st;
}

static choir_status start_request(struct alltoallv_request *r, const choir_call *call, choir_event **event_p)
{
	bool done;

	TRY(alltoallv_request_check(r));
	TRY(call_may_start(r->key->form->name, r->comm, event_p));
	TRY(propose(r, call, event_p, &done));
	return done ? CHOIR_SUCCESS : start_script(r, call, event_p);
}

static const struct call_form alltoallv = { .name = "choir_alltoallv", .collective = COLLECTIVE_ALLTOALLV };

static choir_status start_first(choir_comm *comm, struct call_key *key, const choir_call *given, choir_event **event_p)
{
	struct alltoallv_request r;
	choir_call call;
	choir_status st;

	TRY(call_check_comm(alltoallv.name, comm));
	TRY(call_read(alltoallv.name, given, 0, &call));
	key->options = call.options;
	key->factor = call.factor;
	st = alltoallv_request_read(comm, key, &r);
	if (st == CHOIR_SUCCESS)
		st = start_request(&r, &call, event_p);
	alltoallv_request_fini(&r);
	return st;
}

static choir_status start_key(choir_comm *comm, struct call_key *key, const choir_call *given, choir_event **event_p)
{
	choir_status st;

	if (start_again(comm, key, given, event_p, &st))
		return st;
	TRY(call_enter(alltoallv.name, comm));
	st = start_first(comm, key, given, event_p);
	comm_leave(comm);
	return call_named(st, given);
}

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

	return start_key(comm, &key, given, event_p);
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
	struct alltoallv_request r;
	choir_status st;

	key.options = call->options;
	st = alltoallv_request_read(comm, &key, &r);
	if (st == CHOIR_SUCCESS)
		st = alltoallv_request_check(&r);
	if (st == CHOIR_SUCCESS && r.send.extent > 0)
		base->buffers[0] = key.send;
	if (st == CHOIR_SUCCESS && r.recv.extent > 0)
		base->buffers[1] = key.recv;
	alltoallv_request_fini(&r);
	return st;
}

static choir_status start_kept(struct kept_call *base, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct call_key key = ((struct kept_alltoallv *)base)->key;

	return start_key(comm, &key, call, event_p);
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

	TRY(call_check_comm(alltoallv.name, comm));
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
