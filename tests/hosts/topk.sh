#!/bin/sh
# SPDX-License-Identifier: MIT
# topk.sh MPIEXEC BENCH: the top-k algorithms side by side on four hosts; hosts.sh TOPK_RATE runs it.  A rank sends at
# most an eighth of the bytes of the dense allreduce.  With CHOIR_TEST_LONG=1 the tensor has 14.7 M elements, and oktopk
# takes at most an eighth of the time; the table is printed.
set -eu
mpiexec=$1 bench=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
elements=100000 calls=1 settled=40
[ "${CHOIR_TEST_LONG:-}" != 1 ] || elements=14700000 calls=10 settled=150
unset CHOIR_TEST_LONG CHOIR_TEST_QUICK

# run WARM-UP NAMES: their rows into run.json.  The sum of oktopk's gradients grows, and its thresholds with it, for
# some 130 calls; a dense call leaves no residual, and takes long.
run() {
	"$(dirname "$0")/mpiexec.sh" "$mpiexec" -ppn 1 -n 4 "$bench" topk --n $elements --density 2% -m host -n $calls \
		-w "$1" --algorithm "$2" --json "$folder/part.json" 2>"$folder/errors" || {
		status=$?
		cat "$folder/errors"
		exit $status
	}
	cat "$folder/part.json" >>"$folder/run.json"
}
run 3 dense
run $settled oktopk,spardl,gtopk,topka
awk -F '[:,]' -v long=$((elements > 1000000)) '
$1 ~ /"algorithm"/ { name = $2; gsub(/[" ]/, "", name); names[++n] = name }
$1 ~ /"p50"/ { us[name] = $2 }
$1 ~ /"wire_bytes"/ { bytes[name] = $2 }
END {
	for (i = 2; i <= n; i++) {
		name = names[i]
		fewer = bytes["dense"] / (bytes[name] + 1)
		faster = us["dense"] / us[name]
		printf "%s: %.1f times fewer bytes than dense, %.1f times faster\n", name, fewer, faster
		failed = failed || fewer < 8 || (long && name == "oktopk" && faster < 8)
	}
	exit failed || n != 5 || bytes["dense"] == 0
}' "$folder/run.json"
