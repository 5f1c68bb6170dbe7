/* SPDX-License-Identifier: MIT */
/* gather, scatter, scan and exscan. */
#include "api/dense.h"
#include "api/request.h"
#include "api/start.h"

static const struct call_form gather = { .name = "choir_gather",
	                                 .collective = COLLECTIVE_GATHER,
	                                 .prepare = dense_prepare };

static const struct call_form scatter = { .name = "choir_scatter",
	                                  .collective = COLLECTIVE_SCATTER,
	                                  .prepare = dense_prepare };

static const struct call_form scan = { .name = "choir_scan", .collective = COLLECTIVE_SCAN, .prepare = dense_prepare };

static const struct call_form exscan = { .name = "choir_exscan",
	                                 .collective = COLLECTIVE_EXSCAN,
	                                 .prepare = dense_prepare };

choir_status choir_gather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype,
                          int root, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &gather, .send = send, .recv = recv, .count = send_count, .dtype = dtype, .peer = root
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_gather_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                               choir_dtype dtype, int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key = {
		.form = &gather, .send = send, .recv = recv, .count = send_count, .dtype = dtype, .peer = root
	};

	return request_create(comm, &key, call, request_p);
}

choir_status choir_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype,
                           int root, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &scatter, .send = send, .recv = recv, .count = recv_count, .dtype = dtype, .peer = root
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_scatter_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                choir_dtype dtype, int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key = {
		.form = &scatter, .send = send, .recv = recv, .count = recv_count, .dtype = dtype, .peer = root
	};

	return request_create(comm, &key, call, request_p);
}

choir_status choir_scan(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                        choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &scan, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_scan_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                             choir_op op, const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &scan, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op };

	return request_create(comm, &key, call, request_p);
}

choir_status choir_exscan(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                          choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &exscan, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_exscan_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                               choir_op op, const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &exscan, .send = send, .recv = recv, .count = count, .dtype = dtype, .op = op };

	return request_create(comm, &key, call, request_p);
}
