/* SPDX-License-Identifier: MIT */
#include "world/tag_calls.h"

#include <stdlib.h>

choir_call tagged(int64_t tag)
{
	choir_call call = CHOIR_CALL_INIT;

	call.tag = tag;
	return call;
}

/* Of tag t from a rank its m-th message: of `count` numbers. */
static void write_message(int *out, size_t count, int from, int64_t t, int m)
{
	for (size_t i = 0; i < count; i++)
		out[i] = from * 1000003 + (int)(t % 1000) * 1009 + m * 31 + (int)i;
}

static bool is_message(const int *in, size_t count, int from, int64_t t, int m)
{
	for (size_t i = 0; i < count; i++)
		if (in[i] != from * 1000003 + (int)(t % 1000) * 1009 + m * 31 + (int)i)
			return false;
	return true;
}

/* Beside a flag, in the ring, in pieces, and with credits. */
static const size_t lengths[] = { 1, 0, 500, 40000, 600000 };
enum { TAGS = 5, MOST = 600000 };

/* Two messages for each tag, sent in one order and received in another; the last tags of 31 bits, and none. */
void tags_in_other_order(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const int64_t tags[TAGS] = { 3, 0, 2147483646, 1, 9 };
	int *out = malloc(2 * TAGS * MOST * sizeof *out), *in = malloc(MOST * sizeof *in);
	int left = (rank + world->n - 1) % world->n, right = (rank + 1) % world->n;
	choir_event *sent[2 * TAGS];

	(void)unused;
	for (int i = 0; i < 2 * TAGS; i++) {
		choir_call call = tagged(tags[i % TAGS]);
		size_t count = lengths[i % TAGS];

		write_message(&out[i * MOST], count, rank, tags[i % TAGS], i / TAGS);
		OK(choir_send(comm, choir_host(&out[i * MOST]), count, CHOIR_I32, right, &call, &sent[i]));
	}
	for (int i = 2 * TAGS - 1; i >= 0; i--) { /* the last tag first; of a tag in order */
		choir_call call = tagged(tags[i / 2]);

		OK(choir_recv(comm, choir_host(in), lengths[i / 2], CHOIR_I32, left, &call, NULL));
		CHECK(is_message(in, lengths[i / 2], left, tags[i / 2], 1 - i % 2));
	}
	for (int i = 0; i < 2 * TAGS; i++) {
		OK(choir_event_wait(sent[i], -1));
		choir_event_release(sent[i]);
	}
	free(out);
	free(in);
}

/* All recvs wait before the first send, which is for the last of them. */
void tags_many(struct world *world, int rank, choir_comm *comm, void *unused)
{
	enum { MANY = 400 };
	int in[MANY], left = (rank + world->n - 1) % world->n, right = (rank + 1) % world->n;
	choir_event *events[MANY];

	(void)unused;
	for (int t = 0; t < MANY; t++) {
		choir_call call = tagged(t + 1);

		in[t] = -1;
		OK(choir_recv(comm, choir_host(&in[t]), 1, CHOIR_I32, left, &call, &events[t]));
	}
	for (int t = MANY - 1; t >= 0; t--) {
		choir_call call = tagged(t + 1);
		int value = rank * MANY + t;

		OK(choir_send(comm, choir_host(&value), 1, CHOIR_I32, right, &call, NULL));
	}
	for (int t = 0; t < MANY; t++) {
		OK(choir_event_wait(events[t], -1));
		choir_event_release(events[t]);
		CHECK(in[t] == left * MANY + t);
	}
}
