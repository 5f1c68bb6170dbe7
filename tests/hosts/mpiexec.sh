#!/bin/sh
# SPDX-License-Identifier: MIT
# mpiexec.sh MPIEXEC ARGS...: mpiexec over the hosts that hosts.sh made.  Its status decides, unless a rank had to leave
# a hanging MPI_Finalize after all had agreed that they passed: mpiexec itself may then fall over (job.c,
# finalise_hangs).
mpiexec=$1
shift
JOB_PASSED=$(mktemp -u)
export JOB_PASSED
"$mpiexec" -launcher rsh -launcher-exec "$HOSTS_RSH" -hosts "$HOSTS_LIST" -iface eth0 "$@"
status=$?
[ ! -e "$JOB_PASSED" ] || status=0
rm -f "$JOB_PASSED"
exit $status
