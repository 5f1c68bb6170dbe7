/* SPDX-License-Identifier: MIT */
/* One call of a top-k state: its arguments, checked, and its start as a script of the topk room. */
#ifndef API_TOPK_CALL_H
#define API_TOPK_CALL_H

#include "api/call.h"
#include "topk/run.h"

#include <choir/collective.h>

struct topk_args {
	const char *function;
	const choir_tensor *tensors; /* [n_tensors] gradients, and where the dense results go */
	size_t n_tensors;
	const choir_topk_out *out; /* its dense has been looked at */
	/* the caller's selection; NULL: none */
	const choir_buffer *at;
	size_t at_count;
	choir_dtype at_dtype;
};

/* topk_call_check: nothing is sent.  The caller ends *request by topk_request_fini.  ARGUMENT, UNSUPPORTED, NO_MEMORY
 * naming the function. */
choir_status topk_call_check(const struct topk_args *args, choir_device *device, const struct topk_state *state,
                             struct topk_request *request);
void topk_request_fini(struct topk_request *request);

/* topk_call_submit: the request is copied. */
choir_status topk_call_submit(const char *function, choir_comm *comm, struct topk_state *state,
                              const struct topk_request *request, const choir_call *call, choir_event **event_p);

#endif
