#!/bin/sh
# SPDX-License-Identifier: MIT
# usage.sh choir-train: wrong words end with status 2 and a sentence that names them, before anything runs.
set -u
status=0
refused() {
	names=$1
	shift
	said=$("$train" "$@" 2>&1)
	if [ $? -ne 2 ] || ! printf '%s' "$said" | grep -q -e "$names"; then
		echo "choir-train $* (should name $names): $said"
		status=1
	fi
}
train=$1
refused --batch --batch 0
refused --batch --batch 1.5
refused --lr --lr fast
refused --seconds --seconds -1
refused --via --via pigeon
refused --no-such-option --no-such-option
refused /nonexistent/text --text /nonexistent/text
refused --local --via mpi --local 2
refused --compare --compare=0
refused picture.gif --local 1 --steps 1 --plot picture.gif
refused --compare --compare --via mpi
refused --compress --compress oktopk --via mpi
refused --density --compress oktopk --density 1.5
refused --momentum --momentum 1
refused --dense-steps --dense-steps 3
# A disk that is full.
said=$("$train" --local 1 --text "$0" --steps 3 --batch 8 --candidates 8 --width 4 --hidden 4 --loss-out /dev/full 2>&1)
if [ $? -eq 0 ] || ! printf '%s' "$said" | grep -q '/dev/full cannot be written'; then
	echo "choir-train --loss-out /dev/full: $said"
	status=1
fi
"$train" --help | grep -q -e --candidates || status=1
exit $status
