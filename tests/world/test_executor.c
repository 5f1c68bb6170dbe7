/* SPDX-License-Identifier: MIT */
/* Callbacks on threads of the caller's. */
#include "world/gate.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* --- an executor of a thread for each rank --- */

enum { MOST = 3 };

struct job {
	struct job *next;
	choir_work_fn work;
	void *arg;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *first;
	bool stop;
	pthread_t threads[MOST];
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static _Thread_local bool is_of_pool;

static void take_job(void *ctx, choir_work_fn work, void *arg)
{
	struct job *job = malloc(sizeof *job);

	(void)ctx;
	*job = (struct job){ NULL, work, arg };
	pthread_mutex_lock(&pool.lock);
	job->next = pool.first;
	pool.first = job;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
}

static void *work_off(void *unused)
{
	(void)unused;
	is_of_pool = true;
	pthread_mutex_lock(&pool.lock);
	while (!pool.stop || pool.first != NULL) {
		struct job *job = pool.first;

		if (job == NULL) {
			pthread_cond_wait(&pool.more, &pool.lock);
			continue;
		}
		pool.first = job->next;
		pthread_mutex_unlock(&pool.lock);
		job->work(job->arg);
		free(job);
		pthread_mutex_lock(&pool.lock);
	}
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

struct told {
	choir_comm *comm;
	bool by_pool;
	choir_status status, inner;
	_Atomic int calls;
};

/* Blocks, which no thread of choir's may. */
static void note(void *ctx, choir_status status)
{
	struct told *told = ctx;

	told->by_pool = is_of_pool;
	told->status = status;
	told->inner = choir_barrier(told->comm, NULL, NULL);
	told->calls++;
}

static choir_status sparse_done(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                size_t val_count, choir_dtype val_dtype)
{
	struct told *told = ctx;

	(void)ind;
	(void)ind_dtype;
	(void)val;
	(void)val_dtype;
	told->by_pool = is_of_pool;
	told->status = ind_count == 1 && val_count == 1 ? CHOIR_SUCCESS : CHOIR_TRANSPORT;
	told->calls++;
	return CHOIR_SUCCESS;
}

static void executes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct told told = { .comm = comm }, late = { .comm = comm }, sparse = { .comm = comm };
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	int32_t index = 3;
	float value = 1;
	choir_event *event;

	(void)arg;
	OK(choir_barrier(comm, NULL, &event));
	OK(choir_event_on_complete(event, note, &told));
	while (told.calls == 0) /* the callback's own barrier is the rank's next call */
		OK(choir_event_wait(event, -1));
	CHECK(told.inner == CHOIR_SUCCESS && told.status == CHOIR_SUCCESS && told.by_pool);
	OK(choir_event_on_complete(event, note, &late));
	while (late.calls == 0)
		OK(choir_event_wait(event, -1));
	CHECK(late.inner == CHOIR_SUCCESS && late.by_pool);
	choir_event_release(event);
	attr.completion_fn = sparse_done;
	attr.fn_ctx = &sparse;
	OK(choir_sparse_allreduce(comm, choir_host(&index), 1, choir_host(&value), 1, choir_none(), NULL, choir_none(),
	                          NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, NULL));
	CHECK(sparse.calls == 1 && sparse.status == CHOIR_SUCCESS && sparse.by_pool);
}

static choir_status sparse_done_late(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype,
                                     choir_buffer val, size_t val_count, choir_dtype val_dtype)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); /* the background thread has gone to rest */
	return sparse_done(ctx, ind, ind_count, ind_dtype, val, val_count, val_dtype);
}

/* Nobody waits for the call: it goes on when its callback has returned. */
static void goes_on(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct told sparse = { .comm = comm };
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	int32_t index = 3;
	float value = 1;
	choir_event *event;
	int done = 0;

	(void)arg;
	attr.completion_fn = sparse_done_late;
	attr.fn_ctx = &sparse;
	OK(choir_sparse_allreduce(comm, choir_host(&index), 1, choir_host(&value), 1, choir_none(), NULL, choir_none(),
	                          NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, &event));
	for (int ms = 0; ms < 10000 && !done; ms++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		OK(choir_event_test(event, &done));
	}
	CHECK(done && sparse.calls == 1 && sparse.status == CHOIR_SUCCESS);
	choir_event_release(event);
}

static void test_executor(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++)
		assert_int_equal(pthread_create(&pool.threads[i], NULL, work_off, NULL), 0);
	assert_int_equal(choir_set_executor(take_job, &pool.first), CHOIR_SUCCESS);
	for (int n = 1; n <= MOST; n++)
		for (int per_node = 0; per_node <= (n > 1 ? n - 1 : 0); per_node++) {
			world_run_at(n, per_node, 30000, executes, NULL);
			world_run_at(n, per_node, 30000, goes_on, NULL);
		}
	assert_int_equal(choir_set_executor(NULL, NULL), CHOIR_SUCCESS);
	pthread_mutex_lock(&pool.lock);
	pool.stop = true;
	pthread_cond_broadcast(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	for (int i = 0; i < MOST; i++)
		pthread_join(pool.threads[i], NULL);
}

/* --- an executor that keeps what it is given --- */

static struct job *_Atomic kept;

static void keep_job(void *ctx, choir_work_fn work, void *arg)
{
	struct job *job = malloc(sizeof *job);

	(void)ctx;
	*job = (struct job){ kept, work, arg };
	while (!atomic_compare_exchange_weak(&kept, &job->next, job))
		;
}

static int do_kept(void)
{
	struct job *next, *job = atomic_exchange(&kept, NULL);
	int n = 0;

	for (; job != NULL; job = next, n++) {
		next = job->next;
		job->work(job->arg);
		free(job);
	}
	return n;
}

static void count(void *calls, choir_status status)
{
	*(_Atomic int *)calls += status == CHOIR_SUCCESS ? 1 : 100;
}

/* Queues and cl_events go on without the executor, which gets the caller's callback alone. */
static void bridges(struct world *world, int rank, choir_comm *comm, void *calls)
{
	cl_context context = choir_device_context(world->device);
	cl_event gate = gate_make(context), made = NULL, late = NULL;
	choir_call call = CHOIR_CALL_INIT;
	struct sum sum;
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, choir_device_id(world->device), NULL, &rc);

	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	OK(sum_start(&sum, comm, 300, 1, &call, true));
	OK(choir_event_on_complete(sum.event, count, calls));
	OK(choir_queue_wait(queue, 1, &sum.event));
	OK(choir_event_to_cl(sum.event, &made));
	gate_open(gate, CL_COMPLETE);
	CHECK(clFinish(queue) == CL_SUCCESS && sum_is(&sum, world->n));
	CHECK(clWaitForEvents(1, &made) == CL_SUCCESS);
	OK(choir_event_to_cl(sum.event, &late));
	CHECK(clWaitForEvents(1, &late) == CL_SUCCESS);
	clReleaseEvent(gate);
	clReleaseEvent(made);
	clReleaseEvent(late);
	clReleaseCommandQueue(queue);
	sum_free(&sum);
}

static void test_bridges(void **state)
{
	(void)state;
	assert_int_equal(choir_set_executor(keep_job, NULL), CHOIR_SUCCESS);
	for (int n = 1; n <= MOST; n++)
		for (int per_node = 0; per_node < n; per_node++) {
			_Atomic int calls = 0;

			world_run_at(n, per_node, 30000, bridges, (void *)&calls);
			assert_int_equal(calls, 0);
			assert_int_equal(do_kept(), n);
			assert_int_equal(calls, n);
		}
	assert_int_equal(choir_set_executor(NULL, NULL), CHOIR_SUCCESS);
}

/* --- another executor, while the first one is at work --- */

static struct {
	sem_t is_inside, may_leave;
	_Atomic bool changed;
	bool was_first; /* the first one left before the change was over */
	choir_event *event;
	_Atomic int calls;
} change;
static _Thread_local bool changes;

void __real_wait_yield(void);
void __wrap_wait_yield(void);

void __wrap_wait_yield(void)
{
	if (changes) /* it waits for the first one */
		sem_post(&change.may_leave);
	changes = false;
	__real_wait_yield();
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void stay(void *ctx, choir_work_fn work, void *arg)
{
	(void)ctx;
	sem_post(&change.is_inside);
	await(&change.may_leave);
	change.was_first = !change.changed;
	work(arg);
}

static void *call_back(void *unused)
{
	(void)unused;
	return choir_event_on_complete(change.event, count, (void *)&change.calls) == CHOIR_SUCCESS ? NULL : &change;
}

static void change_inside(void *ctx, choir_work_fn work, void *arg)
{
	*(choir_status *)ctx = choir_set_executor(NULL, NULL);
	work(arg);
}

static void test_change(void **state)
{
	choir_status inside = CHOIR_TIMEOUT;
	struct world world;
	pthread_t thread;
	void *failed;

	(void)state;
	sem_init(&change.is_inside, 0, 0);
	sem_init(&change.may_leave, 0, 0);
	world_begin(&world, 1, NULL);
	assert_int_equal(choir_barrier(world.comms[0], NULL, &change.event), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(change.event, -1), CHOIR_SUCCESS);
	assert_int_equal(choir_set_executor(stay, NULL), CHOIR_SUCCESS);
	assert_int_equal(pthread_create(&thread, NULL, call_back, NULL), 0);
	await(&change.is_inside);
	changes = true;
	assert_int_equal(choir_set_executor(change_inside, &inside), CHOIR_SUCCESS);
	change.changed = true;
	if (changes)
		sem_post(&change.may_leave);
	changes = false;
	pthread_join(thread, &failed);
	assert_true(failed == NULL && change.was_first && change.calls == 1);
	assert_null(call_back(NULL)); /* by change_inside */
	assert_null(call_back(NULL)); /* by this thread */
	assert_true(inside == CHOIR_SUCCESS && change.calls == 3);
	choir_event_release(change.event);
	world_end(&world);
	sem_destroy(&change.is_inside);
	sem_destroy(&change.may_leave);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_executor), cmocka_unit_test(test_bridges),
		                            cmocka_unit_test(test_change) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
