#!/bin/sh
# SPDX-License-Identifier: MIT
# C files are as clang-format leaves them by .clang-format; those of cl aside, whose attributes it does not know.
# usage: format.sh CLANG-FORMAT ROOT
set -eu
tool=$1
cd "$2"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find src include tools tests -type f \( -name '*.[ch]' -o -name '*.inc' \) -print | sort >"$list"
[ -s "$list" ] || {
	echo "no file was read"
	exit 1
}
[ -s .clang-format ] || {
	echo "there is no .clang-format"
	exit 1
}
xargs "$tool" --dry-run -Werror <"$list"
