#!/bin/sh
# SPDX-License-Identifier: MIT
# interrupt.sh COMMAND...: Ctrl-C after the first row ends choir-bench with 130, and the rows so far stand in the JSON
# and in the picture.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
mkfifo "$folder/rows"
"$@" --json "$folder/run.json" --plot "$folder/run.png" >"$folder/rows" &
bench=$!
{
	while IFS= read -r line; do
		case $line in
		"#"*) ;;
		*) kill -INT $bench && break ;;
		esac
	done
	cat >/dev/null
} <"$folder/rows"
status=0
wait $bench || status=$?
[ $status -eq 77 ] && exit 77
[ $status -eq 130 ] || { echo "exit status $status instead of 130"; exit 1; }
grep -q '"interrupted": true' "$folder/run.json"
grep -q '"p50"' "$folder/run.json"
head -c 4 "$folder/run.png" | grep -q PNG
