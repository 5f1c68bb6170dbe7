#!/bin/sh
# SPDX-License-Identifier: MIT
# learns.sh CHOIR-TRAIN CHOIR-PLOT: a text of one sentence is learnt by heart on two ranks; the summary, the curve and
# the losses are written.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
i=0
while [ $i -lt 50 ]; do
	echo "the quick brown fox jumps over a lazy dog and runs away from it"
	i=$((i + 1))
done >"$folder/text"
"$1" --local 2 --text "$folder/text" --steps 150 --every 1000 --batch 64 --candidates 8 --width 8 --hidden 16 --lr 0.3 \
	--json "$folder/out.json" --plot "$folder/a curve's.svg" --loss-out "$folder/losses" \
	>"$folder/out" || { status=$?; cat "$folder/out"; exit $status; }
cat "$folder/out"
awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR == 150 && first > 2 && last < 0.1) }' "$folder/losses"
grep -q '"words_per_s"' "$folder/out.json"
awk -F '[:,]' '/"total"/ { total = $2 } /"shown"/ { shown = $2 }
	END { exit !(shown > 0 && shown <= total) }' "$folder/out.json"
grep -q '</svg>' "$folder/a curve's.svg"
"$2" "$folder/both.png" "$folder/out.json" "$folder/out.json"
head -c 4 "$folder/both.png" | grep -q PNG
# The line's comm is the summary's; no line is wider than a terminal.
awk 'FILENAME ~ /json$/ { if ($1 == "\"total\":") total = 1000 * $2 / 150; next }
	$1 == 150 { comm = $5 }
	length > 80 && !/^#/ { print "too wide: " $0; bad = 1 }
	END {
		if (comm < total - 0.001 || comm > total + 0.001) {
			print "comm " comm " ms in the line, " total " in the summary"
			bad = 1
		}
		exit bad
	}' \
	"$folder/out.json" "$folder/out"
if grep -q "$(printf '\r')" "$folder/out"; then
	echo "a progress line in a pipe"
	exit 1
fi
