#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/sparse/draw.sh BUILD: measures what docs/sparse.md shows, with the choir-bench of that build folder, on two ranks, and draws the pictures beside this script.
# A minute or two; nothing else should run meanwhile.  The figures go to standard output.
set -eu
pictures=$(cd "$(dirname "$0")" && pwd)
bench=$1/tools/bench/choir-bench
# shellcheck source=tools/lib/draw.sh
. "$pictures/../../tools/lib/draw.sh"

draw_density() { # draw_density NAME DENSITIES FLAGS...
	name=$1 densities=$2
	shift 2
	draw "density-$name" sparse_allreduce --memory host "$@" --density "$densities" --algorithm all --vs dense
}
draw_density scalars 0.01%,0.03%,0.1%,0.3%,1%,3%,10%,30%,100% --uniform --width 1 --range 1000000 -n 20
draw_density rows 0.03%,0.1%,0.3%,1%,3%,10%,30%,100% --zipf --width 64 --range 43056 -n 10
draw_density clustered 0.01%,0.03%,0.1%,0.3%,1%,3%,10%,30%,100% --clustered --overlap 70% --width 1 --range 1000000 -n 20
