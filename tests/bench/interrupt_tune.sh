#!/bin/sh
# SPDX-License-Identifier: MIT
# interrupt_tune.sh COMMAND...: Ctrl-C after the first row of choir-bench --tune=FILE says that no rules are written: a
# file that stood there keeps its rules, and none is left that it made itself.
set -eu
. "$(dirname "$0")/interrupted.sh"
tune() {
	interrupted "$@" --tune="$folder/rules" 2>"$folder/said"
	grep -q "no rules are written" "$folder/said" || { cat "$folder/said"; exit 1; }
}
tune "$@"
[ ! -e "$folder/rules" ] || { echo "an empty file is left"; exit 1; }
echo "allreduce: ring" >"$folder/rules"
tune "$@"
[ "$(cat "$folder/rules")" = "allreduce: ring" ] || { echo "the old rules are gone"; exit 1; }
