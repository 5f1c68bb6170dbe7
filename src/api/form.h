/* SPDX-License-Identifier: MIT */
/* The form of a call: what the arguments of a public function mean.  One constant row a function, beside its
 * definition. */
#ifndef API_FORM_H
#define API_FORM_H

#include "api/call.h"
#include "exec/prepared.h"

struct call_form {
	const char *name;             /* "choir_allreduce" */
	enum collective collective;   /* what the buffers hold, and what it takes: its row in algo/collective.def */
	/* Checks all that can be checked, chooses and plans; nothing is sent, enqueued or changed. */
	choir_status (*prepare)(choir_comm *comm, const struct call_key *key, const choir_call *call,
	                        struct prepared **out_p);
};

/* call_takes_factor: is a factor other than 1 for the call's operator? */
static inline bool call_takes_factor(const struct call_key *key)
{
	return collective_has(key->form->collective, TRAIT_REDUCES) && key->op == CHOIR_OP_PREMUL_SUM;
}

#endif
