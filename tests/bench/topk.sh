#!/bin/sh
# SPDX-License-Identifier: MIT
# topk.sh BENCH: all algorithms side by side in one picture; what is told of them is of the timed calls.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
measure() {
	bench=$1
	shift
	"$bench" --local 2 topk -m host --density 2% "$@" >"$folder/out" || exit $?
}
measure "$1" --n 5000 --compare -n 2 -w 1 --plot "$folder/bars.svg"
tr -d '\n' <"$folder/bars.svg" | sed 's/<!\[CDATA\[\([^]]*\)\]\]>/\1/g; s/> */>/g; s/ *</</g' >"$folder/bars"
for text in "topk, f32, sum, host memory: normal values, 5000 elements, 2 % to keep" "2 ranks on 1 node, " \
	">dense<" ">topka2<" ">topk-opt<" ">gaussiank-concat<" ">oktopk<" ">spardl<" \
	">select<" ">exchange<" ">merge<" ">update<" ">whole call<" \
	">words that the busiest rank receives<" ">received<" ">formula of topk.md<" "</svg>"; do
	grep -q -e "$text" "$folder/bars" || { echo "the picture lacks '$text'"; exit 1; }
done
# topk-opt finds its threshold in call 0, selects 10 % of the elements in the calls after it, and finds the next
# threshold in call 32: the first one after the warm-up of 1 + 31 calls.
measure "$1" --n 20000 --algorithm topk-opt -n 1 -w 31 --json "$folder/run.json"
sed -n 's/.*"density_in": \([^,]*\).*/\1/p' "$folder/run.json" | awk '{
	print "selected: " $1
	exit !($1 > 0.015 && $1 < 0.05)
}'
