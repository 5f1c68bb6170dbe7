# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the scripts that draw the pictures of docs/ share.  Sourced with $pictures set to their folder and $bench to a choir-bench; POSIX sh.
: "${pictures:?}" "${bench:?}"
POCL_MAX_PTHREAD_COUNT=1
export POCL_MAX_PTHREAD_COUNT

draw() { # draw PICTURE FLAGS...: on two ranks; the figures go to standard output
	picture=$1
	shift
	echo "== $*"
	mpiexec.mpich -n 2 "$bench" "$@" --plot "$pictures/$picture.svg"
}
