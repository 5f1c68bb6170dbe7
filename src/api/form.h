/* SPDX-License-Identifier: MIT */
/* The form of a call: what the arguments of a public function mean.  One constant row a function, beside its
 * definition. */
#ifndef API_FORM_H
#define API_FORM_H

#include "api/call.h"
#include "exec/prepared.h"

struct call_form {
	const char *name;           /* "choir_allreduce" */
	enum collective collective; /* what the buffers hold, and what it takes: its row in algo/collective.def */
	bool padded;                /* of a list: a tensor's count is that of all blocks together */
	bool of_split;              /* the library's own, with the tag of splits */
	/* Checks all that can be checked, chooses and plans; nothing is sent, enqueued or changed. */
	choir_status (*prepare)(choir_comm *comm, const struct call_key *key, const choir_call *call,
	                        struct prepared **out_p);
};

/* call_takes: the members of choir_call that only some calls take, and this one does. */
static inline unsigned call_takes(const struct call_key *key)
{
	enum collective collective = key->form->collective;

	if (collective_has(collective, TRAIT_PAIR))
		return key->form->of_split ? CALL_TAKES_TAG | CALL_TAKES_SPLIT_TAG : CALL_TAKES_TAG;
	return collective_has(collective, TRAIT_REDUCES) && key->op == CHOIR_OP_PREMUL_SUM ? CALL_TAKES_FACTOR : 0;
}

#endif
