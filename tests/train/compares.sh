#!/bin/sh
# SPDX-License-Identifier: MIT
# compares.sh SPARSE.MD "command"...: choir-train --compare exchanges its gradients by every algorithm of that page as
# well, tells what each took and that the sums were the same, counts each choice of the model once, and trains as
# without it, bit for bit.
set -eu
page=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
awk 'BEGIN {
	for (line = 0; line < 60; line++)
		for (word = 0; word < 12; word++)
			printf "w%c%c%s", 97 + (line * word) % 7, \
				97 + (line * 5 + word * word) % 26, word < 11 ? " " : "\n"
}' >"$folder/text"
sed -n '/^## Algorithms/,/^## /s/^| `\([a-z_]*\)` |.*/\1/p' "$page" | grep -v '^algorithm=$' >"$folder/names"
[ "$(wc -l <"$folder/names")" -ge 7 ]

# train NAME COMMAND OPTION...: 11 steps; what it says goes to NAME.out, its losses to NAME.loss.
train() {
	name=$1 command=$2 status=0
	shift 2
	# shellcheck disable=SC2086 # a command and its words
	$command --text "$folder/text" --steps 11 --batch 66 --candidates 20 --width 8 --hidden 16 --loss-out \
		"$folder/$name.loss" "$@" \
		>"$folder/$name.out" 2>&1 || status=$?
	[ "$status" -eq 0 ] || {
		cat "$folder/$name.out"
		exit "$status"
	}
}

bad=0
for command in "$@"; do
	train plain "$command"
	train compared "$command" --compare=5 --json "$folder/json"
	cmp "$folder/plain.loss" "$folder/compared.loss" || bad=1
	# table (two words), algorithm, picked, calls, median, predicted, bytes, verdict: steps 0, 5 and 10 were
	# compared
	awk -v what="$command" '
		NR == FNR { names[$1]; next }
		$2 == "table" && ($1 == "output" || $1 == "input") && $3 in names {
			rows[$1, $3]++
			n += $5 == 3 && $6 > 0 && $7 >= 0 && ($9 == "same" || \
				$3 == "recursive_doubling" && $9 == "regrouped,")
			picked[$1] += $4
		}
		END {
			for (name in names)
				missing += rows["output", name] != 1 || rows["input", name] != 1
			printf "%s: %d good rows, %d names missing, picked %d and %d times\n", \
				what, n, missing, picked["output"], picked["input"]
			exit !(n == 2 * length(names) && !missing && picked["output"] == 3 && picked["input"] == 3)
		}' "$folder/names" "$folder/compared.out" || {
		cat "$folder/compared.out"
		bad=1
	}
	[ "$(grep -c '"predicted_us"' "$folder/json")" -eq "$((2 * $(wc -l <"$folder/names")))" ] || {
		echo "$command: not every row is in the summary"
		bad=1
	}
done
exit $bad
