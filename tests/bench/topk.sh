#!/bin/sh
# SPDX-License-Identifier: MIT
# topk.sh BENCH: all algorithms side by side in one picture; what is told of them is of the timed calls;
# --overlap of a file.
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
# Of a file too, --overlap is the share of the positions where both ranks have the same values: with all of them the
# result has as many entries as a rank sends, with none of them about twice as many.  The file is this one.
result() {
	measure "$1" --n 20000 --algorithm topka -n 1 -w 0 --values "$0" --overlap "$2" --json "$folder/run.json"
	sed -n 's/.*"density_out": \([^,]*\).*/\1/p' "$folder/run.json"
}
echo "$(result "$1" 0) $(result "$1" 100%)" | awk '{
	print "in the result: " $1 ", of the same values " $2
	exit !($1 > 0.03 && $2 == 0.02)
}'
