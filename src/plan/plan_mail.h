/* SPDX-License-Identifier: MIT */
/* Matches the messages and receives of a simulation: whichever is first is kept until the other one comes. */
#ifndef PLAN_PLAN_MAIL_H
#define PLAN_PLAN_MAIL_H

#include <choir/types.h>
#include <stdbool.h>

struct plan_letter {
	int32_t from, to;
	uint32_t tag;
	uint32_t step; /* the step of a waiting receive; PLAN_MAIL_CAME: an arrived message */
	uint32_t next;
};
#define PLAN_MAIL_CAME UINT32_MAX

struct plan_mail {
	struct plan_letter *letters;
	uint32_t n, cap, unused; /* unused: list of free letters, linked by next */
	uint32_t *buckets;
	uint32_t mask;
};

choir_status plan_mail_init(struct plan_mail *mail, int ranks); /* NO_MEMORY */
void plan_mail_fini(struct plan_mail *mail);

/* plan_mail_meet: a receive begins (its step), or a message has arrived (PLAN_MAIL_CAME).  If the other one is kept:
 * *met_p = true, *step_p = the receive's step.  Else this one is kept: *met_p = false.  NO_MEMORY. */
choir_status plan_mail_meet(struct plan_mail *mail, int from, int to, uint32_t tag, uint32_t step, bool *met_p,
                            uint32_t *step_p);

#endif
