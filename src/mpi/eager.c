/* SPDX-License-Identifier: MIT */
/* Note [eager messages].  UCX over TCP sends messages above some 16 KB by a rendezvous, in which the network is idle
 * for two ways.  Between two processes longer messages without one are faster; in rings of more, on a slow network,
 * they are slower.  UCX_RNDV_THRESH is read by MPI_Init alone, so it is set while this library starts MPI for two
 * processes, unless the user of either has set it.  Where the program calls MPI_Init, UCX's own limit holds. */
#include "mpi/eager.h"

#include "mpi/call.h"

#include <stdatomic.h>
#include <stdlib.h>

static const char variable[] = "UCX_RNDV_THRESH", limit[] = "128K";
static _Atomic bool asked;

bool eager_may_ask(void)
{
	return getenv(variable) == NULL;
}

void eager_ask(void)
{
	atomic_store(&asked, true);
	setenv(variable, limit, 0); /* if that fails the messages are long all the same: the peer's are */
}

void eager_forget(void)
{
	if (atomic_load(&asked))
		unsetenv(variable);
}

bool eager_is_long(void)
{
	return atomic_load(&asked) && mpi_uses_ucx();
}
