#!/bin/sh
# SPDX-License-Identifier: MIT
# No line of code, comments or docs is longer than 120 columns, a tab being 8; tables of Markdown aside.
# usage: columns.sh ROOT ALLOWED   ALLOWED has lines "FOLDER LINES": the files under it may still have that many, and no
# more.
set -eu
root=$1 allowed=$2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$root"
# Files without a suffix are scripts.
find src include cl tools tests docs README.md -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name \
	'*.cl' -o -name '*.sh' -o -name '*.py' -o -name '*.md' -o -name '*.cmake' -o -name '*.cmake.in' \
	-o -name CMakeLists.txt -o ! -name '*.*' \) -print | sort >"$here/files"
[ -s "$here/files" ] || {
	echo "no file was read"
	exit 1
}
# Bytes that continue a UTF-8 character take no column.
LC_ALL=C xargs awk '
FNR == 1 {
	table = FILENAME ~ /\.md$/ ? "^ *[|]" : "^$"
}
length() > 14 && $0 !~ table {
	gsub(/[\200-\277]/, "")
	n = length()
	if (n * 8 <= 120 || n + 7 * gsub(/\t/, "&") <= 120)
		next
	n = split($0, parts, "\t")
	column = 0
	for (i = 1; i < n; i++)
		column = int((column + length(parts[i])) / 8 + 1) * 8
	if (column + length(parts[n]) > 120)
		print FILENAME ":" FNR
}' <"$here/files" >"$here/long"

# The longest folder of the list that a file is under owns its lines.
awk '
FILENAME == ARGV[1] {
	if ($1 !~ /^#/ && NF >= 2)
		may[$1] = $2
	next
}
{
	at = $1
	sub(/:[0-9]*$/, "", at)
	while (at != "" && !(at in may))
		if (!sub(/\/[^\/]*$/, "", at))
			at = ""
	n[at]++
	lines[at] = lines[at] "\t" $1 "\n"
}
END {
	for (at in n) {
		if (at != "")
			print at ": " n[at] " lines above 120 columns, " may[at] " allowed"
		if (n[at] > may[at] + 0) {
			printf "lines above 120 columns%s:\n%s", at == "" ? "" : ", more than allowed", lines[at]
			broken = 1
		}
	}
	exit broken
}' "$allowed" "$here/long"
