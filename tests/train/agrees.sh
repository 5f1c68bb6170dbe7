#!/bin/sh
# SPDX-License-Identifier: MIT
# agrees.sh "command" "command"...: choir-train run in different ways gives the same losses, to 1e-4 after 200 steps of
# a small model on WordNet (a batch of 510 divides by 1, 2 and 3, but not by 4).
set -eu
[ -r "${WNSEARCHDIR:-/usr/share/wordnet}/data.noun" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
n=0
for command in "$@"; do
	n=$((n + 1))
	status=0
	# shellcheck disable=SC2086 # a command and its words
	$command --steps 200 --batch 510 --candidates 256 --width 32 --hidden 48 --every 1000 --loss-out "$folder/$n" \
		>"$folder/out" 2>&1 || status=$?
	if [ "$status" -ne 0 ]; then
		cat "$folder/out"
		exit "$status"
	fi
	paste "$folder/1" "$folder/$n" | awk -v what="$command" '
		{ off = ($2 - $1) / $1; off = off < 0 ? -off : off; if (off > worst) worst = off; last = $2 }
		END {
			printf "%s: %d steps, last loss %s, off by %.1e at most\n", what, NR, last, worst
			exit !(NR == 200 && worst < 1e-4)
		}'
done
