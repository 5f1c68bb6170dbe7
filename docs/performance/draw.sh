#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/performance/draw.sh BUILD: measures what docs/performance.md shows, with the choir-bench of that build folder, on two ranks, and draws the pictures beside this script.
# Some minutes; nothing else should run meanwhile.  The figures go to standard output.
set -eu
pictures=$(cd "$(dirname "$0")" && pwd)
bench=$1/tools/bench/choir-bench
# shellcheck source=tools/lib/draw.sh
. "$pictures/../../tools/lib/draw.sh"

draw allreduce-symmetric allreduce --memory symmetric -b 4 -e 128M -f 4 --vs mpi,bound
draw allreduce-host allreduce --memory host -b 4 -e 128M -f 4 --vs mpi,bound
draw allreduce-device allreduce --memory device -b 4 -e 128M -f 4 --vs mpi,staged
