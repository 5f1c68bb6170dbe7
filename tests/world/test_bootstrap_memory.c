/* SPDX-License-Identifier: MIT */
/* Two processes make a comm, and every allocation of theirs fails once: both learn it, with a sentence, and none waits
 * in a gather for one that does not come, or comes with something else. */
#include "world/allocations.h"
#include "world/world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PROCESSES = 2 };

/* Where the two gather. */
struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct {
		const void *mine;
		void *all;
		size_t bytes;
		int gathers;
		bool gone;
	} each[PROCESSES];
	int here, round;
	bool differs;
	int alone; /* the process that waited for one that had gathered before, and was gone; -1: none */
};

struct process_thread {
	pthread_t thread;
	struct meeting *meeting;
	int rank;
	choir_status status;
	char text[256];
};

/* Both are here. */
static void exchange(struct meeting *m)
{
	m->differs |= m->each[0].bytes != m->each[1].bytes;
	for (int to = 0; to < PROCESSES && !m->differs; to++)
		for (int from = 0; from < PROCESSES; from++)
			memcpy((char *)m->each[to].all + (size_t)from * m->each[from].bytes, m->each[from].mine,
			       m->each[from].bytes);
	m->here = 0;
	m->round++;
	pthread_cond_broadcast(&m->changed);
}

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct process_thread *me = ctx;
	struct meeting *m = me->meeting;
	int round, other = 1 - me->rank;
	bool met;

	pthread_mutex_lock(&m->lock);
	round = m->round;
	m->each[me->rank].mine = mine;
	m->each[me->rank].all = all;
	m->each[me->rank].bytes = bytes;
	m->each[me->rank].gathers++;
	if (++m->here == PROCESSES)
		exchange(m);
	while (m->round == round && !m->each[other].gone)
		pthread_cond_wait(&m->changed, &m->lock);
	met = m->round != round && !m->differs;
	if (m->round == round && m->each[other].gathers > 0)
		m->alone = me->rank;
	pthread_mutex_unlock(&m->lock);
	return met ? 0 : 1;
}

static void *make_comm(void *arg)
{
	struct process_thread *me = arg;
	choir_bootstrap bootstrap = { sizeof bootstrap, me->rank, PROCESSES, gather, me, NULL };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm = NULL;

	me->status = choir_comm_create(&bootstrap, 1, &device, &config, &comm);
	if (me->status != CHOIR_SUCCESS)
		snprintf(me->text, sizeof me->text, "%s", choir_last_error());
	pthread_mutex_lock(&me->meeting->lock);
	me->meeting->each[me->rank].gone = true;
	pthread_cond_broadcast(&me->meeting->changed);
	pthread_mutex_unlock(&me->meeting->lock);
	choir_comm_destroy(comm);
	return NULL;
}

static void judge(const struct meeting *m, const struct process_thread *t, unsigned k, const void *site)
{
	if (m->differs || m->alone >= 0)
		fail_msg("allocation %u (of %p): %s", k, site,
		         m->differs ? "the processes gather different things" : "one process waits alone");
	for (int i = 0; i < PROCESSES; i++)
		if (t[i].status != CHOIR_SUCCESS && t[i].text[0] == '\0')
			fail_msg("allocation %u (of %p): process %d says nothing", k, site, i);
	if ((t[0].status == CHOIR_SUCCESS) != (t[1].status == CHOIR_SUCCESS))
		fail_msg("allocation %u (of %p): %s and %s", k, site, choir_status_name(t[0].status),
		         choir_status_name(t[1].status));
}

/* True: the k-th allocation was reached, and failed.  gathers_p: of each process; may be NULL. */
static bool pass_fails(unsigned k, int *gathers_p)
{
	struct meeting meeting = { .lock = PTHREAD_MUTEX_INITIALIZER,
		                   .changed = PTHREAD_COND_INITIALIZER,
		                   .alone = -1 };
	struct process_thread threads[PROCESSES] = { { .meeting = &meeting }, { .meeting = &meeting, .rank = 1 } };
	const void *site;
	bool failed;

	allocations_fail(k);
	for (int i = 0; i < PROCESSES; i++)
		assert_int_equal(pthread_create(&threads[i].thread, NULL, make_comm, &threads[i]), 0);
	for (int i = 0; i < PROCESSES; i++)
		pthread_join(threads[i].thread, NULL);
	allocations_stop();
	failed = allocations_failed(&site);
	judge(&meeting, threads, k, site);
	if (gathers_p != NULL)
		*gathers_p = meeting.each[0].gathers;
	return failed;
}

static void test_bootstrap(void **state)
{
	unsigned k = 1;

	(void)state;
	assert_false(pass_fails(0, NULL));
	while (pass_fails(k, NULL))
		k++;
	assert_true(k > 20);
}

/* Facts, addresses, who could map; agreement, addresses, agreement of the rings; agreement at the end. */
static void test_gathers(void **state)
{
	int gathers;

	(void)state;
	assert_false(pass_fails(0, &gathers));
	assert_int_equal(gathers, 7);
}

static int writes_nothing(void *ctx, const void *mine, size_t bytes, void *all)
{
	(void)ctx;
	(void)mine;
	(void)bytes;
	(void)all;
	return 0;
}

static void test_a_gather_that_writes_nothing(void **state)
{
	choir_bootstrap bootstrap = { sizeof bootstrap, 1, 2, writes_nothing, NULL, NULL };
	choir_device *device = world_device();
	choir_comm *comm = NULL;

	(void)state;
	assert_int_equal(choir_comm_create(&bootstrap, 1, &device, NULL, &comm), CHOIR_TRANSPORT);
	assert_non_null(strstr(choir_last_error(), "returned 0 on process 1 of 2, and did not give back"));
	assert_null(comm);
}

static int make_device(void **state)
{
	(void)state;
	return world_device() == NULL;
}

static int drop_device(void **state)
{
	(void)state;
	world_device_drop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bootstrap), cmocka_unit_test(test_gathers),
		                            cmocka_unit_test(test_a_gather_that_writes_nothing) };

	return cmocka_run_group_tests(tests, make_device, drop_device);
}
