#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/draw.sh BUILD: measures what docs/performance.md and docs/sparse.md show, with the choir-bench of that build
# folder, on two ranks, and draws the pictures in docs/performance and docs/sparse.  Some minutes; nothing else should
# run meanwhile.  The figures go to standard output.
set -eu
docs=$(cd "$(dirname "$0")" && pwd)
bench=$1/tools/bench/choir-bench
POCL_MAX_PTHREAD_COUNT=1
export POCL_MAX_PTHREAD_COUNT

draw() { # draw PICTURE FLAGS...
	picture=$1
	shift
	echo "== $*"
	mpiexec.mpich -bind-to core -n 2 "$bench" "$@" --plot "$docs/$picture.svg"
}
draw_density() { # draw_density NAME DENSITIES FLAGS...
	name=$1 densities=$2
	shift 2
	draw "sparse/density-$name" sparse_allreduce --memory host "$@" --density "$densities" --algorithm all \
		--vs dense
}
draw performance/allreduce-symmetric allreduce --memory symmetric -b 4 -e 128M -f 4 --vs mpi,bound
draw performance/allreduce-host allreduce --memory host -b 4 -e 128M -f 4 --vs mpi,bound
draw performance/allreduce-device allreduce --memory device -b 4 -e 128M -f 4 --vs mpi,staged
draw_density scalars 0.01%,0.03%,0.1%,0.3%,1%,3%,10%,30%,100% --uniform --width 1 --range 1000000 -n 20
draw_density rows 0.03%,0.1%,0.3%,1%,3%,10%,30%,100% --zipf --width 64 --range 43056 -n 10
draw_density clustered 0.01%,0.03%,0.1%,0.3%,1%,3%,10%,30%,100% --clustered --overlap 70% --width 1 --range 1000000 \
	-n 20
