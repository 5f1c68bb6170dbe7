#!/bin/sh
# SPDX-License-Identifier: MIT
# leaves.sh LEAVE: a program whose MPI_Finalize hangs ends with its own status, and tells a success by a file.
CHOIR_TEST_PASSED=$(mktemp -u)
export CHOIR_TEST_PASSED
trap 'rm -f "$CHOIR_TEST_PASSED"' EXIT

# ends LEAVE STATUS: exits if the program ends with another status.
ends() {
	status=0
	"$1" "$2" || status=$?
	[ "$status" -eq "$2" ] || {
		echo "status $status instead of $2"
		exit 1
	}
}
ends "$1" 3
[ ! -e "$CHOIR_TEST_PASSED" ] || {
	echo "a failure is told as a success"
	exit 1
}
ends "$1" 0
[ -e "$CHOIR_TEST_PASSED" ] || {
	echo "the success is not told"
	exit 1
}
