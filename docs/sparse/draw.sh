#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/sparse/draw.sh BUILD: measures what docs/sparse.md shows, with the choir-bench of that build folder, on two ranks, and draws the pictures beside this script.
# A minute or two; nothing else should run meanwhile.  The figures go to standard output.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=$1/tools/bench/choir-bench
POCL_MAX_PTHREAD_COUNT=1
export POCL_MAX_PTHREAD_COUNT

draw() { # draw PICTURE FLAGS...
	picture=$1
	shift
	echo "== $*"
	mpiexec.mpich -n 2 "$bench" sparse_allreduce "$@" --algorithm all --vs dense --plot "$here/$picture.svg"
}
draw density-scalars --memory host --uniform --width 1 --range 1000000 --density 0.01%,0.03%,0.1%,0.3%,1%,3%,10%,30%,100% -n 20
draw density-rows --memory host --zipf --width 64 --range 43056 --density 0.03%,0.1%,0.3%,1%,3%,10%,30%,100% -n 10
draw density-clustered --memory host --clustered --overlap 70% --width 1 --range 1000000 --density 0.01%,0.03%,0.1%,0.3%,1%,3%,10%,30%,100% -n 20
