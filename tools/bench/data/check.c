/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "bench/cases/job.h"
#include "touch.h"

#include <stdlib.h>
#include <string.h>

void check_input(const struct job *job, void *send)
{
	struct collective_data data = job_data(job);

	collective_input(&data, job->rank, job->layout.send_count, send);
}

uint64_t check_output(const struct job *job, const void *recv)
{
	struct collective_data data = job_data(job);

	return collective_wrong(&data, job->rank, recv, NULL);
}

static size_t data_at(const struct job *job, size_t element)
{
	return (job->args->offset + (job->in_place ? element : 0)) * job->elem_bytes;
}

static size_t data_count(const struct job *job, bool send)
{
	size_t larger =
	    job->layout.send_count > job->layout.recv_count ? job->layout.send_count : job->layout.recv_count;

	return job->in_place ? larger : send ? job->layout.send_count : job->layout.recv_count;
}

static size_t buffer_bytes(const struct job *job, bool send)
{
	return (job->args->offset + data_count(job, send)) * job->elem_bytes + CHECK_GUARD_BYTES;
}

bool check_init(struct check_buffers *buffers, const struct job *job)
{
	size_t send = buffer_bytes(job, true), recv = buffer_bytes(job, false);

	*buffers = (struct check_buffers){ 0 };
	buffers->scratch = memory_host(send > recv ? send : recv);
	if (buffers->scratch == NULL)
		return false;
	buffers->has_send = memory_init(&buffers->send, &job->memory, send);
	buffers->has_recv = !job->in_place && buffers->has_send && memory_init(&buffers->recv, &job->memory, recv);
	if (buffers->has_send && (job->in_place || buffers->has_recv))
		return true;
	check_fini(buffers);
	return false;
}

static size_t pages(size_t bytes)
{
	return (bytes + CHECK_PAGE_BYTES - 1) / CHECK_PAGE_BYTES * CHECK_PAGE_BYTES;
}

size_t check_bytes(const struct job *job)
{
	return pages(buffer_bytes(job, true)) + (job->in_place ? 0 : pages(buffer_bytes(job, false)));
}

void check_fini(struct check_buffers *buffers)
{
	if (buffers->has_recv)
		memory_fini(&buffers->recv);
	if (buffers->has_send)
		memory_fini(&buffers->send);
	free(buffers->scratch);
	*buffers = (struct check_buffers){ 0 };
}

choir_buffer check_send(const struct check_buffers *buffers, const struct job *job)
{
	return memory_buffer(&buffers->send, data_at(job, job->layout.send_at));
}

choir_buffer check_recv(const struct check_buffers *buffers, const struct job *job)
{
	return memory_buffer(job->in_place ? &buffers->send : &buffers->recv, data_at(job, job->layout.recv_at));
}

bool check_fill(struct check_buffers *buffers, const struct job *job)
{
	unsigned char *scratch = buffers->scratch;

	if (!job->in_place) {
		memset(scratch, CHECK_SENTINEL, buffers->recv.bytes);
		if (!memory_write(&buffers->recv, scratch))
			return false;
	}
	memset(scratch, CHECK_SENTINEL, buffers->send.bytes);
	check_input(job, scratch + data_at(job, job->layout.send_at));
	return memory_write(&buffers->send, scratch);
}

/* One wrong "element" for the bytes before the data and one for those behind. */
static uint64_t broken_sentinels(const struct job *job, const unsigned char *all, bool send)
{
	size_t begin = job->args->offset * job->elem_bytes, end = begin + data_count(job, send) * job->elem_bytes;
	uint64_t before = 0, behind = 0;

	for (size_t i = 0; i < begin; i++)
		before |= all[i] != CHECK_SENTINEL;
	for (size_t i = 0; i < CHECK_GUARD_BYTES; i++)
		behind |= all[end + i] != CHECK_SENTINEL;
	return before + behind;
}

void check_touch(const struct check_buffers *buffers)
{
	touch_written(buffers->send.host, buffers->send.bytes);
	if (buffers->has_recv)
		touch_read(buffers->recv.host, buffers->recv.bytes);
}

bool check_count(struct check_buffers *buffers, const struct job *job, uint64_t *wrong_p)
{
	struct collective_data data = job_data(job);
	unsigned char *scratch = buffers->scratch;
	uint64_t wrong;

	if (!memory_read(job->in_place ? &buffers->send : &buffers->recv, scratch))
		return false;
	wrong = broken_sentinels(job, scratch, false) + check_output(job, scratch + data_at(job, job->layout.recv_at));
	if (!job->in_place) {
		if (!memory_read(&buffers->send, scratch))
			return false;
		wrong += broken_sentinels(job, scratch, true);
		wrong += collective_wrong_input(&data, job->rank, job->layout.send_count,
		                                scratch + data_at(job, job->layout.send_at));
	}
	*wrong_p = wrong;
	return true;
}
