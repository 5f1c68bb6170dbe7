/* SPDX-License-Identifier: MIT */
/* In place of mpi.c where choir is built without MPI. */
#include "info.h"

json_t *info_mpi(void)
{
	return json_pack("{s:s}", "error", "choir was built without it");
}

json_t *info_job(bool *speaks_p)
{
	(void)speaks_p;
	return json_object();
}

void info_mpi_done(void)
{
}
