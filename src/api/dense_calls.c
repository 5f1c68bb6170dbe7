/* SPDX-License-Identifier: MIT */
/* The dense collectives of equal counts. */
#include "api/dense.h"
#include "api/request.h"
#include "api/start.h"

static const struct call_form allreduce = { .name = "choir_allreduce",
	                                    .collective = COLLECTIVE_ALLREDUCE,
	                                    .prepare = dense_prepare };

static const struct call_form reduce_scatter = { .name = "choir_reduce_scatter",
	                                         .collective = COLLECTIVE_REDUCE_SCATTER,
	                                         .prepare = dense_prepare };

static const struct call_form allgather = { .name = "choir_allgather",
	                                    .collective = COLLECTIVE_ALLGATHER,
	                                    .prepare = dense_prepare };

static const struct call_form alltoall = { .name = "choir_alltoall",
	                                   .collective = COLLECTIVE_ALLTOALL,
	                                   .prepare = dense_prepare };

static const struct call_form broadcast = { .name = "choir_broadcast",
	                                    .collective = COLLECTIVE_BROADCAST,
	                                    .prepare = dense_prepare };

static const struct call_form reduce = { .name = "choir_reduce",
	                                 .collective = COLLECTIVE_REDUCE,
	                                 .prepare = dense_prepare };

static const struct call_form barrier = { .name = "choir_barrier",
	                                  .collective = COLLECTIVE_BARRIER,
	                                  .prepare = dense_prepare };

choir_status choir_allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                             choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &allreduce, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allreduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                  choir_dtype dtype, choir_op op, const choir_call *call, choir_request **request_p)
{
	struct call_key key = {
		.form = &allreduce, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op
	};

	return request_create(comm, &key, call, request_p);
}

choir_status choir_reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                  choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &reduce_scatter, .send = send, .recv = recv, .count = recv_count, .dtype = dtype, .op = op
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_scatter_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                       choir_dtype dtype, choir_op op, const choir_call *call,
                                       choir_request **request_p)
{
	struct call_key key = {
		.form = &reduce_scatter, .send = send, .recv = recv, .count = recv_count, .dtype = dtype, .op = op
	};

	return request_create(comm, &key, call, request_p);
}

choir_status choir_allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                             choir_dtype dtype, const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &allgather, .send = send, .recv = recv, .count = send_count, .dtype = dtype };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allgather_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                  choir_dtype dtype, const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &allgather, .send = send, .recv = recv, .count = send_count, .dtype = dtype };

	return request_create(comm, &key, call, request_p);
}

choir_status choir_alltoall(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                            const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &alltoall, .send = send, .recv = recv, .count = count, .dtype = dtype };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_alltoall_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                 choir_dtype dtype, const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &alltoall, .send = send, .recv = recv, .count = count, .dtype = dtype };

	return request_create(comm, &key, call, request_p);
}

choir_status choir_broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                             int root, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &broadcast, .send = send, .recv = recv, .count = count, .dtype = dtype, .peer = root
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_broadcast_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                  choir_dtype dtype, int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key = {
		.form = &broadcast, .send = send, .recv = recv, .count = count, .dtype = dtype, .peer = root
	};

	return request_create(comm, &key, call, request_p);
}

choir_status choir_reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                          choir_op op, int root, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &reduce, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op, .peer = root
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                               choir_op op, int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key = {
		.form = &reduce, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op, .peer = root
	};

	return request_create(comm, &key, call, request_p);
}

choir_status choir_barrier(choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &barrier, .dtype = CHOIR_U8 };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_barrier_init(choir_comm *comm, const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &barrier, .dtype = CHOIR_U8 };

	return request_create(comm, &key, call, request_p);
}
