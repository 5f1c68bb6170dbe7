#!/bin/sh
# SPDX-License-Identifier: MIT
# interrupt.sh COMMAND...: Ctrl-C after the first row ends choir-bench with 130, and the rows so far stand in the JSON
# and in the picture.
set -eu
. "$(dirname "$0")/interrupted.sh"
interrupted "$@" --json "$folder/run.json" --plot "$folder/run.png"
grep -q '"interrupted": true' "$folder/run.json"
grep -q '"p50"' "$folder/run.json"
head -c 4 "$folder/run.png" | grep -q PNG
