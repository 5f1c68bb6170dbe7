/* SPDX-License-Identifier: MIT */
/* A process that is killed in a sparse call, or ends before its peers have read all it lent them: they say so, long
 * before the deadline, and what they still read stands. */
#include "node/arena.h"
#include "node/process_id.h"
#include "sparse/share.h"
#include "world/processes.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* What rank 0 has lent is opened when that process has ended, or after a while if it does not end. */
static struct {
	int64_t process; /* 0: as soon as asked for */
	int while_ms;
} late;

choir_status __real_share_open(const struct share_address *address, struct share_view **out_p);
choir_status __wrap_share_open(const struct share_address *address, struct share_view **out_p);

choir_status __wrap_share_open(const struct share_address *address, struct share_view **out_p)
{
	if (address->process == late.process) {
		struct pollfd process = { .fd = peer_watch_open(late.process), .events = POLLIN };

		poll(&process, 1, late.while_ms);
		peer_watch_close(process.fd);
	}
	return __real_share_open(address, out_p);
}

static choir_status die(void *ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count, choir_dtype val_dtype,
                        choir_buffer *ind, choir_buffer *val)
{
	(void)ctx, (void)ind_count, (void)ind_dtype, (void)val_count, (void)val_dtype, (void)ind, (void)val;
	raise(SIGKILL);
	return CHOIR_SUCCESS;
}

static choir_status sum_sparse(choir_comm *comm, const char *options, choir_sparse_alloc_fn alloc, int32_t *ind,
                               float *val)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call call = CHOIR_CALL_INIT;
	int32_t my_ind[] = { 5, 1 + choir_comm_rank(comm) };
	float my_val[] = { 1, 2 };
	size_t n_ind = 8, n_val = 8;

	attr.alloc_fn = alloc;
	call.options = options;
	return choir_sparse_allreduce(comm, choir_host(my_ind), 2, choir_host(my_val), 2,
	                              alloc == NULL ? choir_host(ind) : choir_none(), &n_ind,
	                              alloc == NULL ? choir_host(val) : choir_none(), &n_val, CHOIR_I32, CHOIR_F32,
	                              CHOIR_OP_SUM, &attr, &call, NULL);
}

static const char *const shared_ways[] = { "algorithm=allgather", "algorithm=split" };

/* Ranks of one node read each other's pairs in place if the host coalesces them; if kernels do, the pairs travel. */
static void create_coalescing_on(const char *where, const struct rank *me, choir_comm **comm)
{
	MUST(setenv("CHOIR_REDUCE", where, 1) == 0);
	processes_create(me, 1, 0, 30000, comm);
}

/* All ranks but 0 look at what that one lends when its process has ended, or so much later. */
static void look_late(const struct rank *me, int while_ms)
{
	int64_t process = process_id(), processes[RANKS_MOST];

	meeting_gather(me->meeting, me->rank, &process, sizeof process, processes);
	if (me->rank == 0)
		return;
	late.process = processes[0];
	late.while_ms = while_ms;
}

/* The result of sum_sparse, which every rank calls. */
static bool sparse_result_is_right(const int32_t *ind, const float *val, int n)
{
	return ind[0] == 1 && val[0] == 2 && ind[n] == 5 && val[n] == (float)n;
}

/* Rank 0 is killed when it has told the others where its pairs are, and they have not looked yet. */
static void killed_sparse(const struct rank *me, int way)
{
	int32_t ind[8];
	float val[8];
	choir_comm *comm;

	create_coalescing_on("host", me, &comm);
	look_late(me, way == 0 ? 20000 : 2000); /* the way of split looks first: it cannot wait for the end */
	MUST(sum_sparse(comm, shared_ways[way], me->rank == 0 ? die : NULL, ind, val) == CHOIR_PEER_DEAD);
	MUST(says(choir_last_error(), "rank 0 is dead|sparse_allreduce"));
	MUST(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
	choir_comm_destroy(comm);
}

/* Rank 0 is killed when its pairs have been sent: the others do not wait for it any more, so their call succeeds. */
static void killed_sparse_sent(const struct rank *me, int none)
{
	int32_t ind[8];
	float val[8];
	choir_comm *comm;

	(void)none;
	create_coalescing_on("kernel", me, &comm);
	MUST(sum_sparse(comm, NULL, me->rank == 0 ? die : NULL, ind, val) == CHOIR_SUCCESS);
	MUST(sparse_result_is_right(ind, val, me->n));
	if (me->n == 2) { /* of three, one would end the other's call */
		MUST(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
		MUST(says(choir_last_error(), "rank 0 is dead|barrier"));
	}
	choir_comm_destroy(comm);
}

/* Rank 0 ends after its last call: what the others have not read yet stays until they have. */
static void leaves_early_sparse(const struct rank *me, int way)
{
	int32_t ind[8];
	float val[8];
	choir_comm *comm;

	create_coalescing_on("host", me, &comm);
	look_late(me, 200);
	MUST(sum_sparse(comm, shared_ways[way], NULL, ind, val) == CHOIR_SUCCESS);
	MUST(sparse_result_is_right(ind, val, me->n));
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
}

static void test_sparse_ends(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++)
		for (int n = 2; n <= 3; n++) {
			processes_run(n, way, killed_sparse, 0);
			processes_run(n, way, leaves_early_sparse, -1);
		}
	processes_run(2, 0, killed_sparse_sent, 0);
	processes_run(3, 0, killed_sparse_sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sparse_ends) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
