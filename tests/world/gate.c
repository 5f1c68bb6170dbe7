/* SPDX-License-Identifier: MIT */
#include "world/gate.h"

#include "quick.h"
#include "world/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static cl_context other;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

cl_event gate_make(cl_context context)
{
	cl_int rc;

	return clCreateUserEvent(context, &rc);
}

void gate_open(cl_event gate, cl_int status)
{
	clSetUserEventStatus(gate, status);
}

cl_context gate_context(void)
{
	cl_device_id id = choir_device_id(world_device());
	cl_int rc;

	pthread_mutex_lock(&lock);
	if (other == NULL)
		other = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
	pthread_mutex_unlock(&lock);
	return other;
}

void gate_drop(void)
{
	if (other != NULL)
		clReleaseContext(other);
	other = NULL;
}

choir_status sum_start(struct sum *sum, choir_comm *comm, size_t count, float first, const choir_call *call,
                       bool with_event)
{
	*sum = (struct sum){ malloc((count + 1) * sizeof(float)), malloc((count + 1) * sizeof(float)), count, first,
		             NULL };
	for (size_t i = 0; i <= count; i++) {
		sum->send[i] = first + (float)choir_comm_rank(comm);
		sum->recv[i] = -1;
	}
	return choir_allreduce(comm, choir_host(sum->send), choir_host(sum->recv), count, CHOIR_F32, CHOIR_OP_SUM, call,
	                       with_event ? &sum->event : NULL);
}

bool sum_is(const struct sum *sum, int n)
{
	float wanted = sum->first * (float)n + (float)(n * (n - 1) / 2);

	for (size_t i = 0; i < sum->count; i++)
		if (sum->recv[i] != wanted)
			return false;
	return sum->recv[sum->count] == -1;
}

void sum_free(struct sum *sum)
{
	choir_event_release(sum->event);
	free(sum->send);
	free(sum->recv);
}

bool sum_works(choir_comm *comm, size_t count)
{
	struct sum sum;
	bool works =
	    sum_start(&sum, comm, count, 3, NULL, false) == CHOIR_SUCCESS && sum_is(&sum, choir_comm_size(comm));

	sum_free(&sum);
	return works;
}

bool says(const char *text, const char *words)
{
	while (*words != '\0') {
		size_t n = strcspn(words, "|");

		if (memmem(text, strlen(text), words, n) == NULL)
			return false;
		words += n + (words[n] == '|');
	}
	return true;
}

void line_up_begin(int n)
{
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
}

void line_up(void)
{
	pthread_barrier_wait(&barrier);
}

void line_up_end(void)
{
	pthread_barrier_destroy(&barrier);
}

void line_up_run(int n, int ranks_per_node, int64_t deadline_ms, world_fn fn, void *arg)
{
	line_up_begin(n);
	world_run_at(n, ranks_per_node, deadline_ms, fn, arg);
	line_up_end();
}

void line_up_layouts(int n, world_fn fn)
{
	for (int per_node = 0; per_node < 2; per_node++)
		line_up_run(n, per_node, 120000, fn, NULL); /* 400 messages in turn take 15 s at a load of 30 */
}

static world_fn of_pointers;

static void on_pointers(enum memory_kind kind)
{
	line_up_run(2, 0, 60000, of_pointers, &kind);
	if (!quick_wanted())
		line_up_run(3, 2, 60000, of_pointers, &kind);
}

void line_up_pointers(world_fn fn)
{
	of_pointers = fn;
	memory_each(world_device(), on_pointers);
}
