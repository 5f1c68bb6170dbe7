#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header compiles alone: all of them as C11, the public ones also as pedantic C11 and as C++11, with extern "C"
# around what they declare, and initialisers that C++11 takes.
# usage: headers.sh ROOT CC CXX FLAG...     the flags are those that find OpenCL, MPICH and xxHash; CXX may be empty:
# then C only
set -eu
root=$1 cc=$2 cxx=$3
shift 3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
bad=0 n=0

# alone COMPILER LANGUAGE HEADER FLAG...: a file of that one line.
alone() {
	compiler=$1 language=$2 file=$3
	shift 3
	n=$((n + 1))
	# Twice: a header without a guard shows then.
	printf '#include "%s"\n#include "%s"\n' "$file" "$file" >"$here/alone.$language"
	if ! "$compiler" -fsyntax-only -Wall -Wextra -Werror "$@" "$here/alone.$language" 2>"$here/said"; then
		echo "does not compile alone as $language: $file"
		head -n 8 "$here/said"
		bad=1
	fi
}

cd "$root"
for header in include/choir/*.h; do
	# A program's own names for its own things are no trouble.
	alone "$cc" c "${header#include/}" -std=c11 -pedantic -DSTATUS=1 -DDTYPE=2 -DOP=3 -Iinclude "$@"
	[ -z "$cxx" ] || alone "$cxx" cpp "${header#include/}" -std=c++11 -pedantic -Iinclude "$@"
	if grep -q '^CHOIR_API' "$header" && ! grep -q '^extern "C" {' "$header"; then
		echo "declares functions without extern \"C\": $header"
		bad=1
	fi
done
{
	echo '#pragma once'
	for header in include/choir/*.h; do
		echo "#include <${header#include/}>"
	done
	sed -n 's/^#define \(\(CHOIR_[A-Z_]*\)_INIT\)\>.*/\L\2 a_\2\E = \1;/p' include/choir/*.h
} >"$here/initialisers.h"
[ -z "$cxx" ] || alone "$cxx" cpp "$here/initialisers.h" -std=c++11 -pedantic -Iinclude "$@"
# Templates: included with parameters, some again and again, so alone they are nothing.
templates=" cl/ops.h cl/ops_dtype.h cl/entry.h cl/walk.h cl/group.h cl/group_sum.h cl/fold_options.h cl/select_limit.h"
templates="$templates src/kern/host_op.h src/kern/host_dtype.h"
templates="$templates src/kern/host_pair.h"
templates="$templates src/kern/host_table.h src/kern/host_lanes.h src/kern/host_widen.h "
for template in $templates; do
	[ -e "$template" ] || {
		echo "no such template any more: $template"
		bad=1
	}
done
# Private ones are used by our own files only, with the flags of tools/cmake/ChoirRules.cmake.
for header in $(find src cl tools tests -name '*.h' | sort); do
	case $templates in *" $header "*) continue ;; esac
	alone "$cc" c "$root/$header" -std=c11 -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=300 -Wno-unused-function \
		-Iinclude -Isrc -Icl \
		-Itests -Itools "$@"
done
echo "$n compilations"
exit $bad
