#!/bin/sh
# SPDX-License-Identifier: MIT
# mpiexec.sh MPIEXEC ARGS...: mpiexec over the hosts that hosts.sh made.  Its status decides, unless a rank had to leave
# a hanging MPI_Finalize after all had agreed that they passed: mpiexec itself may then fall over
# (tools/lib/leave_mpi.h).
mpiexec=$1
shift
CHOIR_TEST_PASSED=$(mktemp -u)
export CHOIR_TEST_PASSED
"$mpiexec" -launcher rsh -launcher-exec "$HOSTS_RSH" -hosts "$HOSTS_LIST" -iface eth0 "$@"
status=$?
[ ! -e "$CHOIR_TEST_PASSED" ] || status=0
rm -f "$CHOIR_TEST_PASSED"
exit $status
