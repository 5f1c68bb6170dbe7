/* SPDX-License-Identifier: MIT */
#include "plan/plan_mail.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

choir_status plan_mail_init(struct plan_mail *mail, int ranks)
{
	uint32_t n = 64;

	while (n < 4 * (uint32_t)ranks)
		n *= 2;
	*mail = (struct plan_mail){ .unused = NONE, .mask = n - 1, .buckets = malloc(n * sizeof *mail->buckets) };
	if (!mail->buckets)
		return error_no_memory("the messages of a forecast", n * sizeof *mail->buckets);
	memset(mail->buckets, 0xff, n * sizeof *mail->buckets);
	return CHOIR_SUCCESS;
}

void plan_mail_fini(struct plan_mail *mail)
{
	free(mail->letters);
	free(mail->buckets);
	memset(mail, 0, sizeof *mail);
}

static uint32_t *bucket_of(struct plan_mail *mail, int from, int to, uint32_t tag)
{
	uint64_t h = ((uint64_t)(uint32_t)from << 32 | (uint32_t)to) * 0x9E3779B97F4A7C15u;

	h = (h ^ (h >> 29) ^ tag) * 0xbf58476d1ce4e5b9u;
	return &mail->buckets[(h >> 32) & mail->mask];
}

static choir_status keep(struct plan_mail *mail, uint32_t *bucket, struct plan_letter letter)
{
	uint32_t at = mail->unused;

	if (at != NONE) {
		mail->unused = mail->letters[at].next;
	} else {
		if (mail->n == mail->cap) {
			uint32_t cap = mail->cap ? mail->cap * 2 : 256;
			void *bigger = realloc(mail->letters, cap * sizeof *mail->letters);

			if (!bigger)
				return error_no_memory("the messages of a forecast", cap * sizeof *mail->letters);
			mail->letters = bigger;
			mail->cap = cap;
		}
		at = mail->n++;
	}
	letter.next = *bucket;
	mail->letters[at] = letter;
	*bucket = at;
	return CHOIR_SUCCESS;
}

choir_status plan_mail_meet(struct plan_mail *mail, int from, int to, uint32_t tag, uint32_t step, bool *met_p,
                            uint32_t *step_p)
{
	uint32_t *bucket = bucket_of(mail, from, to, tag);

	for (uint32_t *link = bucket; *link != NONE; link = &mail->letters[*link].next) {
		uint32_t at = *link;
		struct plan_letter *letter = &mail->letters[at];

		if (letter->from != from || letter->to != to || letter->tag != tag ||
		    (letter->step == PLAN_MAIL_CAME) == (step == PLAN_MAIL_CAME))
			continue;
		*step_p = step == PLAN_MAIL_CAME ? letter->step : step;
		*met_p = true;
		*link = letter->next;
		letter->next = mail->unused;
		mail->unused = at;
		return CHOIR_SUCCESS;
	}
	*met_p = false;
	return keep(mail, bucket, (struct plan_letter){ .from = from, .to = to, .tag = tag, .step = step });
}
