/* SPDX-License-Identifier: MIT */
/* The in-process transport as a bad network: what each fault does, and that it does the same again for the same
 * seed. */
#include "net/hub.h"
#include "node/bell.h"
#include "support.h"

enum { MESSAGES = 400, POLLS = 4000 };

/* When each message was seen, in polls of the receiver; 0 = never. */
struct trace {
	int seen_at[MESSAGES];
	int order[MESSAGES];
	int n;
};

static void send_number(choir_transport *t, int peer, int number)
{
	void *request = NULL;

	assert_int_equal(t->ops->send(t, peer, &number, sizeof number, &request), CHOIR_SUCCESS);
	/* An unfinished request needs no end: it holds nothing. */
}

static void watch(choir_transport *t, struct trace *trace)
{
	for (int polls = 1; polls <= POLLS; polls++) {
		choir_message message;
		int arrived = 0, number;

		assert_int_equal(t->ops->poll(t, &message, &arrived), CHOIR_SUCCESS);
		if (!arrived)
			continue;
		assert_int_equal(message.bytes, sizeof number);
		assert_int_equal(message.peer, 0);
		memcpy(&number, message.data, sizeof number);
		t->ops->give(t, &message);
		assert_in_range(number, 0, MESSAGES - 1);
		assert_int_equal(trace->seen_at[number], 0); /* never twice */
		trace->seen_at[number] = polls;
		trace->order[trace->n++] = number;
	}
}

static void run(const struct hub_faults *faults, struct trace *trace)
{
	choir_transport *t[3];
	struct hub *hub = NULL;

	memset(trace, 0, sizeof *trace);
	assert_int_equal(hub_create(3, t, &hub), CHOIR_SUCCESS);
	hub_set_faults(hub, faults);
	for (int number = 0; number < MESSAGES; number++)
		send_number(t[0], 1, number);
	watch(t[1], trace);
	for (int i = 0; i < 3; i++)
		t[i]->ops->destroy(t[i]);
}

static int overtakings(const struct trace *trace)
{
	int n = 0;

	for (int i = 1; i < trace->n; i++)
		n += trace->order[i] < trace->order[i - 1];
	return n;
}

static void without_faults_everything_comes_in_order(void **state)
{
	const struct hub_faults none = { .seed = 1 };
	struct trace trace;

	(void)state;
	run(&none, &trace);
	assert_int_equal(trace.n, MESSAGES);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(trace.seen_at[i], i + 1);
}

static void the_seed_decides(void **state)
{
	struct hub_faults faults = { .seed = 9, .delay_polls = 20, .reorder = true, .drop_per_1000 = 100 };
	struct trace first, again, other;

	(void)state;
	run(&faults, &first);
	run(&faults, &again);
	assert_memory_equal(&first, &again, sizeof first);
	faults.seed = 10;
	run(&faults, &other);
	assert_memory_not_equal(&first, &other, sizeof first);
}

static void drops_are_as_many_as_asked(void **state)
{
	struct hub_faults faults = { .seed = 2, .drop_per_1000 = 250 };
	struct trace trace;

	(void)state;
	run(&faults, &trace);
	assert_in_range(trace.n, MESSAGES * 65 / 100, MESSAGES * 85 / 100);
	assert_int_equal(overtakings(&trace), 0);
	faults.drop_per_1000 = 1000;
	run(&faults, &trace);
	assert_int_equal(trace.n, 0);
}

static void delays_keep_a_pairs_order(void **state)
{
	const struct hub_faults faults = { .seed = 3, .delay_polls = 600 };
	struct trace trace;

	(void)state;
	run(&faults, &trace);
	assert_int_equal(trace.n, MESSAGES);
	assert_int_equal(overtakings(&trace), 0);
	assert_true(trace.seen_at[0] > 1);
}

static void reordered_messages_all_come(void **state)
{
	const struct hub_faults faults = { .seed = 3, .reorder = true };
	struct trace trace;

	(void)state;
	run(&faults, &trace);
	assert_int_equal(trace.n, MESSAGES);
	assert_true(overtakings(&trace) > 0);
}

static void the_dead_neither_send_nor_receive(void **state)
{
	for (int dead = 0; dead < 2; dead++) {
		const struct hub_faults faults = { .dead = true, .dead_endpoint = dead };
		struct trace trace;

		(void)state;
		run(&faults, &trace);
		assert_int_equal(trace.n, 0);
	}
}

static void what_waits_for_the_dead_is_not_seen(void **state)
{
	const struct hub_faults faults = { .dead = true, .dead_endpoint = 1 }, none = { .seed = 0 };
	choir_transport *t[2];
	choir_message message;
	struct hub *hub = NULL;
	int arrived = 1;

	(void)state;
	assert_int_equal(hub_create(2, t, &hub), CHOIR_SUCCESS);
	send_number(t[0], 1, 5);
	hub_set_faults(hub, &faults);
	assert_int_equal(t[1]->ops->poll(t[1], &message, &arrived), CHOIR_SUCCESS);
	assert_int_equal(arrived, 0);
	hub_set_faults(hub, &none);
	assert_int_equal(t[1]->ops->poll(t[1], &message, &arrived), CHOIR_SUCCESS);
	assert_int_equal(arrived, 1);
	t[1]->ops->give(t[1], &message);
	for (int i = 0; i < 2; i++)
		t[i]->ops->destroy(t[i]);
}

/* A delayed send's request is done after some polls, and a delayed message wakes the process that holds it back. */
static void delayed_requests_end(void **state)
{
	const struct hub_faults faults = { .seed = 4, .delay_polls = 10 };
	choir_transport *t[2];
	choir_message message;
	struct hub *hub = NULL;
	void *request = NULL;
	int done = 0, arrived = 0, tests = 0;
	uint32_t seen;

	(void)state;
	assert_int_equal(hub_create(2, t, &hub), CHOIR_SUCCESS);
	hub_set_faults(hub, &faults);
	while (request == NULL)
		assert_int_equal(t[0]->ops->send(t[0], 1, "x", 1, &request), CHOIR_SUCCESS);
	for (; !done && tests < 100; tests++) {
		assert_int_equal(t[0]->ops->test(t[0], request, &done), CHOIR_SUCCESS);
		assert_int_equal(t[0]->ops->poll(t[0], &message, &arrived), CHOIR_SUCCESS);
	}
	assert_in_range(tests, 2, 20);
	while (!arrived) {
		seen = bell_arm(bell_mine(), BELL_ANY);
		assert_int_equal(t[1]->ops->poll(t[1], &message, &arrived), CHOIR_SUCCESS);
		if (arrived)
			bell_disarm(bell_mine());
		else
			bell_sleep(bell_mine(), seen, -1);
	}
	t[1]->ops->give(t[1], &message);
	t[1]->ops->abort(t[1]);
	for (int i = 0; i < 2; i++)
		t[i]->ops->destroy(t[i]);
}

static void it_takes_an_endpoint(void **state)
{
	choir_transport *t[1];

	(void)state;
	assert_int_equal(hub_create(0, t, NULL), CHOIR_ARGUMENT);
	assert_int_equal(hub_create(1, t, NULL), CHOIR_SUCCESS);
	t[0]->ops->destroy(t[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_everything_comes_in_order),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(drops_are_as_many_as_asked),
		cmocka_unit_test(delays_keep_a_pairs_order),
		cmocka_unit_test(reordered_messages_all_come),
		cmocka_unit_test(the_dead_neither_send_nor_receive),
		cmocka_unit_test(what_waits_for_the_dead_is_not_seen),
		cmocka_unit_test(delayed_requests_end),
		cmocka_unit_test(it_takes_an_endpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
