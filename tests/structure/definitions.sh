#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public function has its definition written out, where a search for its name finds it, in a file named after it
# or its family: a word of the file's name is a word of the function's, or the list of families says so.
# usage: definitions.sh ROOT FAMILIES   FAMILIES has lines "family FILE WORD...": functions with one of those words may
# be in FILE; and one line "missing N": so many functions may still be without a definition of their own, and no more.
set -eu
root=$1 families=$2
cd "$root"
# A declaration may break after its name; the name itself stands on the CHOIR_API line.
declared=$(sed -n 's/^CHOIR_API .*[ *]\(choir_[a-z0-9_]*\)(.*/\1/p' include/choir/*.h | sort)
[ -n "$declared" ] || {
	echo "no CHOIR_API line was found"
	exit 1
}
# Lines "FILE NAME": a definition begins a line with its type, and its name is followed by its parameters.
find src -name '*.c' | sort | xargs awk '
/^[a-z][a-z0-9_ *]*[ *]choir_[a-z0-9_]*\(/ {
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	if ($0 !~ /;$/)
		print "defined", FILENAME, name
}' | {
	cat
	printf 'declared %s\n' $declared
} | awk -v families="$families" '
BEGIN {
	while ((getline line <families) > 0) {
		n = split(line, words, " ")
		if (words[1] == "family")
			for (i = 3; i <= n; i++)
				family[words[2], words[i]] = 1
		else if (words[1] == "missing")
			may_miss = words[2]
	}
}
$1 == "defined" {
	where[$3] = where[$3] " " $2
	next
}
# names.c holds choir_op_name: a plural is the same word.
function is_word_of(word, file,    base, parts, n, i) {
	base = file
	sub(/.*\//, "", base)
	sub(/\.c$/, "", base)
	n = split(base, parts, "_")
	for (i = 1; i <= n; i++)
		if (parts[i] == word || parts[i] == word "s")
			return 1
	return ((file, word) in family)
}
{
	n_declared++
	n = split(where[$2], files, " ")
	if (n == 0) {
		n_missing++
		missing = missing "\t" $2 "\n"
		next
	}
	found = 0
	k = split(substr($2, 7), words, "_")
	for (i = 1; i <= n; i++)
		for (j = 1; j <= k; j++)
			found += is_word_of(words[j], files[i])
	if (n > 1 || !found) {
		print $2 ":" where[$2] (n > 1 ? ": several definitions" : \
			": the file is not named after it, nor a family")
		broken = 1
	}
}
END {
	if (n_missing > 0)
		printf "%d functions without a definition of their own, %d allowed\n%s", n_missing, may_miss, missing
	exit broken || n_missing > may_miss + 0 || n_declared == 0
}'
