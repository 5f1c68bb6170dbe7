#!/bin/sh
# SPDX-License-Identifier: MIT
# survivors.sh N PROGRAM MPIEXEC [OPTIONS...]: runs "PROGRAM killed" on N ranks, of which rank 1 dies.  All others must
# report that they survived, within DEADLINE_S seconds.  MPICH's mpiexec ends the others when one dies,
# -disable-auto-cleanup or not, so each rank has a shell that stays behind and keeps its connection to mpiexec open
# until all have reported.
n=$1 program=$2
shift 2
DEADLINE_S=${DEADLINE_S:-20}
JOB_REPORT=$(mktemp -d)
export JOB_REPORT
stay='"$0" killed; tenths=0; until [ -e "$JOB_REPORT/over" ] || [ $tenths -gt 400 ]; do '\
'sleep 0.1; tenths=$((tenths + 1)); done'
"$@" -n "$n" sh -c "$stay" "$program" >"$JOB_REPORT/mpiexec.log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$JOB_REPORT"' EXIT

reports() {
	find "$JOB_REPORT" -name '[0-9]*' -exec cat {} +
}
tenths=0
while [ "$(reports | wc -l)" -lt $((n - 1)) ] && [ $tenths -lt $((DEADLINE_S * 10)) ]; do
	sleep 0.1
	tenths=$((tenths + 1))
done
touch "$JOB_REPORT/over"
wait $pid
reports
if [ "$(reports | grep -c '^rank [0-9]* survived:')" -ne $((n - 1)) ]; then
	cat "$JOB_REPORT/mpiexec.log"
	echo "not all of $((n - 1)) ranks survived as they should"
	exit 1
fi
