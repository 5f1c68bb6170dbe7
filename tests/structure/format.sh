#!/bin/sh
# SPDX-License-Identifier: MIT
# C files are as clang-format leaves them by .clang-format; those of cl aside, whose attributes it does not know.
# Without clang-format-14 the test is skipped (77).   usage: format.sh CLANG-FORMAT ROOT
set -eu
tool=$1
cd "$2"
command -v "$tool" >/dev/null || {
	echo "no clang-format-14: the format of C files is not tested"
	exit 77
}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find src include tools tests docs/examples -type f \( -name '*.[ch]' -o -name '*.inc' \) -print | sort >"$list"
[ -s "$list" ] || {
	echo "no file was read"
	exit 1
}
[ -s .clang-format ] || {
	echo "there is no .clang-format"
	exit 1
}
xargs "$tool" --dry-run -Werror <"$list"
