/* SPDX-License-Identifier: MIT */
/* Note [starting].  MPI_Init ends the process if its launcher does not answer, and waits without a deadline.  So a
 * helper thread calls it, while the caller's thread answers as its launcher (Note [PMI-1] in mpi/pmi.c).  If the
 * bootstrap fails or the deadline passes, the helper is never answered again and waits until the process ends.
 *
 * Note [leaving].  MPI_Finalize flushes MPICH's connections, and then waits for all processes in a barrier of the
 * launcher, by which time the bootstrap may be gone.  Answered at once, a process leaves while another still flushes to
 * it, and that one waits for ever.  So MPI is left as it is: nothing is in flight behind the barriers of
 * mpi_leave_started, and the kernel closes the connections when the process ends. */
#include "mpi/start.h"

#include "mpi/eager.h"
#include "mpi/link.h"
#include "mpi/pmi.h"

#include <choir/transport.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { LEAVE_MS = 2000, PROGRESS_MS = 50, SERVE_MS = 1 };

enum standing { FRESH, STARTED, FOREIGN, BROKEN, LEFT, UNABLE }; /* of MPI in a process */
static const char *const standings[] = {
	"is fresh",
	"has started MPI with other processes, and MPI can be started once",
	"has initialised MPI itself or under mpiexec: use choir_comm_create_mpi or choir_comm_create_world",
	"could not start MPI before",
	"has left MPI by choir_finalize_world",
	"has no memory, descriptor or thread to start MPI",
};

struct start_facts {
	int32_t standing;
	int32_t rank, size; /* in the world that was started */
	int32_t may_ask;    /* eager_may_ask */
	uint64_t world;     /* the world's name; of a fresh process a proposal, and process 0's is taken */
};

struct helper {
	pthread_t thread;
	sem_t told;  /* whether it begins, or is not wanted */
	bool begins; /* which */
	_Atomic int done;
	int rc, provided;
};

MPI_LOCK(lock)
static struct start_facts mine; /* under lock */
static struct pmi wire;         /* under lock: kept while MPICH has the other end */
static _Atomic bool broken;     /* mine.standing is BROKEN */

static void *initialise(void *arg)
{
	struct helper *helper = arg;

	while (sem_wait(&helper->told) != 0)
		;
	if (!helper->begins)
		return NULL;
	helper->rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &helper->provided);
	atomic_store(&helper->done, 1);
	return NULL;
}

static choir_status serve_until(struct helper *helper, int64_t deadline_ms)
{
	int64_t start = mpi_now_ms();

	while (!atomic_load(&helper->done)) {
		TRY(pmi_serve(&wire, SERVE_MS));
		if (mpi_now_ms() - start > deadline_ms)
			return choir_transport_error(CHOIR_TIMEOUT,
			                             "starting MPI took longer than the deadline of %lld ms",
			                             (long long)deadline_ms);
	}
	if (helper->rc != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT, "MPI_Init_thread failed with MPI error %d", helper->rc);
	return CHOIR_SUCCESS;
}

/* An MPI that asks another launcher, or none, makes other worlds, a process alone in one, say, which would compute
 * alone.  All compare all, since some may have the numbers that they should have. */
static choir_status check_world(const choir_bootstrap *bootstrap, struct start_facts *all)
{
	struct start_facts now = mine;

	MPI_Comm_rank(MPI_COMM_WORLD, &now.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &now.size);
	TRY(pmi_gather(bootstrap, &now, sizeof now, all));
	for (int p = 0; p < bootstrap->size; p++)
		if (all[p].rank != p || all[p].size != bootstrap->size)
			return choir_transport_error(CHOIR_UNSUPPORTED,
			                             "MPI did not take its PMI descriptor: process %d of %d is its "
			                             "rank %d of %d",
			                             p, bootstrap->size, all[p].rank, all[p].size);
	return CHOIR_SUCCESS;
}

static void free_helper(struct helper *helper)
{
	sem_destroy(&helper->told);
	free(helper);
}

/* All that a start takes of this process: a process that lacks it says so before the others begin. */
static choir_status get_ready(const choir_bootstrap *bootstrap, struct helper **out_p)
{
	struct helper *helper = calloc(1, sizeof *helper);
	choir_status st;
	int rc;

	if (helper == NULL)
		return choir_transport_error(CHOIR_NO_MEMORY, "no memory to start MPI");
	sem_init(&helper->told, 0, 0);
	st = pmi_open(bootstrap, &wire);
	if (st != CHOIR_SUCCESS) {
		free_helper(helper);
		return st;
	}
	rc = pthread_create(&helper->thread, NULL, initialise, helper);
	if (rc != 0) {
		pmi_close(&wire);
		free_helper(helper);
		return choir_transport_error(CHOIR_NO_MEMORY, "no thread to start MPI: %s", strerror(rc));
	}
	*out_p = helper;
	return CHOIR_SUCCESS;
}

/* MPI is not started after all. */
static void dismiss(struct helper *helper)
{
	if (helper == NULL)
		return;
	sem_post(&helper->told);
	pthread_join(helper->thread, NULL);
	free_helper(helper);
	pmi_close(&wire);
}

/* The helper and the wire outlive a failure: Note [starting]. */
static choir_status start(const choir_bootstrap *bootstrap, struct helper *helper, int64_t deadline_ms,
                          struct start_facts *all)
{
	choir_status st = pmi_name(&wire);

	if (st != CHOIR_SUCCESS) {
		pmi_forget();
		dismiss(helper);
		return st;
	}
	mpi_begins();
	helper->begins = true;
	sem_post(&helper->told);
	st = serve_until(helper, deadline_ms);
	pmi_forget();
	wire.bootstrap = NULL; /* the caller's */
	if (st == CHOIR_SUCCESS) {
		pthread_join(helper->thread, NULL);
		free_helper(helper);
		st = check_world(bootstrap, all);
	} else {
		pthread_detach(helper->thread);
		mpi_quarantine(helper);
	}
	return st;
}

/* UNSUPPORTED unless all are fresh, or all are in the bootstrap's order in one world. */
static choir_status compare(const choir_bootstrap *bootstrap, const struct start_facts *all)
{
	int fresh = 0;

	for (int p = 0; p < bootstrap->size; p++)
		fresh += all[p].standing == FRESH;
	for (int p = 0; p < bootstrap->size; p++) {
		const struct start_facts *one = &all[p];
		bool together = fresh == 0 && one->standing == STARTED && one->world == all[0].world &&
		                one->rank == p && one->size == bootstrap->size;

		if (one->standing != FRESH && !together)
			return choir_transport_error(CHOIR_UNSUPPORTED, "process %d %s", p, standings[one->standing]);
	}
	return CHOIR_SUCCESS;
}

static choir_status look_at_mine(void)
{
	int initialised = 0;

	if (mine.standing != FRESH)
		return CHOIR_SUCCESS;
	MPI_Initialized(&initialised);
	if (initialised)
		mine.standing = FOREIGN;
	mine.may_ask = eager_may_ask();
	if (getrandom(&mine.world, sizeof mine.world, 0) != sizeof mine.world)
		return choir_transport_error(CHOIR_NO_MEMORY, "getrandom: %s", strerror(errno));
	return CHOIR_SUCCESS;
}

/* Tells the others where this process stands.  *helper_p: of processes that all are ready; NULL: none is wanted. */
static choir_status agree(const choir_bootstrap *bootstrap, struct start_facts *all, struct helper **helper_p)
{
	choir_status ready = look_at_mine(), st;
	struct start_facts told = mine;

	if (ready == CHOIR_SUCCESS && mine.standing == FRESH)
		ready = get_ready(bootstrap, helper_p);
	if (ready != CHOIR_SUCCESS)
		told.standing = UNABLE;
	st = pmi_gather(bootstrap, &told, sizeof told, all);
	if (st == CHOIR_SUCCESS)
		st = ready != CHOIR_SUCCESS ? ready : compare(bootstrap, all);
	if (st != CHOIR_SUCCESS)
		dismiss(*helper_p);
	return st;
}

static choir_status start_together(const choir_bootstrap *bootstrap, int64_t deadline_ms, struct start_facts *all)
{
	struct helper *helper = NULL;
	choir_status st;

	TRY(agree(bootstrap, all, &helper));
	if (helper == NULL)
		return CHOIR_SUCCESS;
	if (bootstrap->size == 2 && all[0].may_ask && all[1].may_ask)
		eager_ask();
	st = start(bootstrap, helper, deadline_ms, all);
	eager_forget();
	atomic_store(&broken, st != CHOIR_SUCCESS);
	mine = (struct start_facts){ .standing = st == CHOIR_SUCCESS ? STARTED : BROKEN,
		                     .rank = bootstrap->rank,
		                     .size = bootstrap->size,
		                     .world = all[0].world };
	return st;
}

choir_status mpi_start(const choir_bootstrap *bootstrap, int64_t deadline_ms)
{
	struct start_facts *all = calloc((size_t)bootstrap->size, sizeof *all);
	choir_status st;

	if (all == NULL)
		return choir_transport_error(CHOIR_NO_MEMORY, "no memory to start MPI");
	pthread_mutex_lock(&lock);
	st = start_together(bootstrap, deadline_ms, all);
	pthread_mutex_unlock(&lock);
	free(all);
	return st;
}

choir_status mpi_start_check(void)
{
	if (atomic_load(&broken))
		return choir_transport_error(CHOIR_UNSUPPORTED, "this process %s, and cannot use it any more",
		                             standings[BROKEN]);
	return CHOIR_SUCCESS;
}

/* Inside and outside MPI: a barrier of all processes that gives up; false if it did. */
static bool meet(int64_t deadline_ms)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int rc;

	if (!mpi_enter())
		return false;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rc = MPI_Ibarrier(MPI_COMM_WORLD, &request);
	mpi_leave();
	return rc == MPI_SUCCESS && mpi_wait_done(&request, deadline_ms, "leaving MPI") == CHOIR_SUCCESS;
}

static void make_progress(int64_t ms)
{
	int64_t start = mpi_now_ms();
	int found;

	while (mpi_now_ms() - start < ms && mpi_enter()) {
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		mpi_leave();
	}
}

bool mpi_leave_started(void)
{
	bool started;

	pthread_mutex_lock(&lock);
	started = mine.standing == STARTED;
	mine.standing = started ? LEFT : mine.standing;
	pthread_mutex_unlock(&lock);
	if (!started)
		return false;
	mpi_links_finalise();
	if (meet(LEAVE_MS)) {
		make_progress(PROGRESS_MS);
		meet(LEAVE_MS);
	}
	mpi_close();
	return true;
}
