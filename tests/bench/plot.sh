#!/bin/sh
# SPDX-License-Identifier: MIT
# plot.sh BENCH CHOIR-PLOT: a picture says what was measured where, has powers of two at its ticks, and is SVG or PNG by
# its name.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
"$1" --local 2 allreduce -m host -b 4 -e 64K -f 4 -n 2 -w 1 -c 0 --vs bound \
	--plot "$folder/a'b.svg" --json "$folder/a.json" >"$folder/out" || exit $?
for text in "allreduce, f32, sum, host memory" "2 ranks on 1 node, " "choir [0-9]" ">4<" ">1K<" ">64K<" ">choir<" \
	">vs bound<" "</svg>"; do
	tr -d '\n' <"$folder/a'b.svg" | sed 's/<!\[CDATA\[\([^]]*\)\]\]>/\1/g; s/> */>/g; s/ *</</g' |
		grep -q -e "$text" ||
		{ echo "the picture lacks '$text'"; exit 1; }
done
"$2" "$folder/two.png" "$folder/a.json" "$folder/a.json"
head -c 4 "$folder/two.png" | grep -q PNG
if "$2" "$folder/two.gif" "$folder/a.json" 2>"$folder/out"; then
	echo "a GIF was drawn"
	exit 1
fi
