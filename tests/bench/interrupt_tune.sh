#!/bin/sh
# SPDX-License-Identifier: MIT
# interrupt_tune.sh COMMAND...: Ctrl-C after the first row of choir-bench --tune=FILE says that no rules are written: a
# file that stood there keeps its rules, and none is left that it made itself.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
mkfifo "$folder/rows"
interrupted() {
	"$@" --tune="$folder/rules" >"$folder/rows" 2>"$folder/said" &
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
	grep -q "no rules are written" "$folder/said" || { cat "$folder/said"; exit 1; }
}
interrupted "$@"
[ ! -e "$folder/rules" ] || { echo "an empty file is left"; exit 1; }
echo "allreduce: ring" >"$folder/rules"
interrupted "$@"
[ "$(cat "$folder/rules")" = "allreduce: ring" ] || { echo "the old rules are gone"; exit 1; }
