#!/bin/sh
# SPDX-License-Identifier: MIT
# mpiexec.sh MPIEXEC ARGS...: mpiexec over the hosts that hosts.sh made.
mpiexec=$1
shift
exec "$mpiexec" -launcher rsh -launcher-exec "$HOSTS_RSH" -hosts "$HOSTS_LIST" -iface eth0 "$@"
