#!/bin/sh
# SPDX-License-Identifier: MIT
# Ranks started by Slurm's srun: Debian's, one node, unpacked below FOLDER and run as this user, nothing installed.
# With PMI (--mpi=pmi2) choir.world() comes up, without it a sentence says why not, and choir.from_environment() needs
# none.  usage: slurm.sh PYTHON FOLDER LAUNCHED.PY   77: the packages cannot be had.
set -eu
python=$1 folder=$2 launched=$3
packages="liblua5.1-0 libslurm38 libmunge2 slurm-wlm-basic-plugins slurm-client slurmctld slurmd"
state=$folder/state root=$folder/root host=$(uname -n | cut -d . -f 1)

skip() {
	echo "skipped: $1"
	exit 77
}

[ "$(id -u)" = 0 ] || skip "slurmd wants to be root"
command -v apt-get >/dev/null || skip "no apt-get here"
if [ ! -e "$folder/complete" ]; then
	rm -rf "$folder"
	mkdir -p "$folder/packages"
	# shellcheck disable=SC2086 # a list
	(cd "$folder/packages" && timeout 120 apt-get -q -o Acquire::Retries=0 download $packages) ||
		skip "Slurm's packages cannot be had"
	for package in "$folder/packages"/*.deb; do
		dpkg -x "$package" "$root"
	done
	touch "$folder/complete"
fi
[ -x "$python" ] || skip "there is no venv, since PyPI could not be reached"
plugins=$(echo "$root"/usr/lib/*/slurm-wlm)
rm -rf "$state"
mkdir -p "$state/spool"
LD_LIBRARY_PATH=$plugins:$(dirname "$plugins")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SLURM_CONF=$state/slurm.conf
export LD_LIBRARY_PATH SLURM_CONF
# Below the kernel's own choice, so that nobody's connection takes them meanwhile.
ports=$("$python" -c '
import random, socket
for port in random.sample(range(10000, 32000), 3):
    socket.socket().bind(("127.0.0.1", port))
    print(port)') || skip "no free ports"
# shellcheck disable=SC2086 # three numbers
set -- $ports
cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$2
AuthType=auth/none
CredType=cred/none
MpiDefault=none
PluginDir=$plugins
SlurmUser=root
StateSaveLocation=$state
SlurmdSpoolDir=$state/spool
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=sched_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
"$root/usr/sbin/slurmctld-wlm" -D -L "$state/slurmctld.log" 2>/dev/null &
controller=$!
"$root/usr/sbin/slurmd-wlm" -D -N "$host" -L "$state/slurmd.log" -d "$root/usr/sbin/slurmstepd-wlm" 2>/dev/null &
daemon=$!

# The controller goes last: a step that cannot tell it of its end tries for two minutes.  Neither is waited for longer.
stop() {
	(sleep 20 && kill -9 $daemon && sleep 5 && kill -9 $controller) >/dev/null 2>&1 &
	killer=$!
	kill $daemon 2>/dev/null
	wait $daemon 2>/dev/null
	kill $controller 2>/dev/null
	wait $controller 2>/dev/null
	kill $killer 2>/dev/null
}
trap 'stop || true' EXIT

# srun of a job that has to queue is looked at again only after a minute.
wait_for_node() {
	until=$(($(date +%s) + 60))
	while [ "$(date +%s)" -lt $until ] && kill -0 $controller $daemon 2>/dev/null; do
		[ "$(timeout 10 "$root/usr/bin/sinfo" -h -o %t 2>/dev/null)" = idle ] && return
		sleep 0.1
	done
	skip "the node does not become idle: $(tail -n 3 "$state/slurmd.log")"
}

# run N ARGUMENT...: srun of N tasks
run() {
	n=$1
	shift
	timeout 100 "$root/usr/bin/srun" --immediate=60 --overcommit -n "$n" "$@" 2>&1 || echo "srun's status: $?"
}

# A Slurm that does not start a plain program says nothing of ours.
wait_for_node
said=$(run 1 --mpi=none echo here)
case $said in
*here*) ;; # srun may tell of queueing too
*)
	tail -n 20 "$state"/*.log
	skip "this Slurm starts no program on this machine: $said"
	;;
esac

# Python's and choir's sentences, and what srun says of a program that ended badly by itself.
ours="Traceback|choir\.[A-Za-z]*Error|Exited with exit code|Segmentation fault|Aborted|Bus error|Floating point"
# srun's about a step that it could not start or follow.
theirs="srun's status: 124|srun: error: (Unable to|Timed out waiting|.*[Ll]aunch)|slurmstepd: error|Job step aborted"

# expect WORDS OUTPUT: exits if the words are not there.  choir's deadlines are shorter than srun's time.
expect() {
	case $2 in
	*"$1"*) return ;;
	esac
	if ! echo "$2" | grep -Eq "$ours" && echo "$2" | grep -Eq "$theirs"; then
		skip "Slurm did not run the program: $2"
	fi
	printf 'expected: %s\nsrun said: %s\n' "$1" "$2"
	cat "$state"/*.log
	exit 1
}

world='import choir, numpy
with choir.world(deadline=60) as comm:
    x = numpy.full(4, comm.rank + 1)
    comm.allreduce(x)
    print(f"rank {comm.rank} of {comm.size}: {x[3]}\n", end="")'

wait_for_node
said=$(run 2 --mpi=pmi2 "$python" -c "$world")
expect "rank 0 of 2: 3" "$said"
expect "rank 1 of 2: 3" "$said"
echo "srun --mpi=pmi2: $said"

wait_for_node
said=$(run 2 --mpi=none "$python" -c "$world")
expect "SLURM_NTASKS=2" "$said"
echo "srun --mpi=none: $(echo "$said" | grep -m 1 SLURM_NTASKS)"

MASTER_ADDR=127.0.0.1 MASTER_PORT=$3 CHOIR_SECRET=0123456789abcdef
export MASTER_ADDR MASTER_PORT CHOIR_SECRET
wait_for_node
said=$(run 2 --mpi=none "$python" "$launched")
expect "rank 0 of 2" "$said"
expect "rank 1 of 2" "$said"
echo "srun, choir.from_environment: $said"
