#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command that must end well and print a given line.   usage: prints.sh LINE COMMAND...
set -eu
line=$1
shift
status=0
said=$("$@" </dev/null) || status=$?
printf '%s\n' "$said"
[ $status -eq 0 ] || {
	echo "it ended with status $status"
	exit 1
}
printf '%s\n' "$said" | grep -qxF "$line" || {
	echo "it did not print: $line"
	exit 1
}
