#!/bin/sh
# SPDX-License-Identifier: MIT
# What a library exports: names of ours only, and every function that its headers declare.
# usage: exports.sh NM LIBRARY HEADER...
set -eu
nm=$1 library=$2
shift 2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
bad=0

# Names that begin with an underscore are the linker's and the sanitizers'.
"$nm" -D --defined-only "$library" | awk '{ print $NF }' | grep -v '^_' | sort >"$here/exported"
if grep -v '^choir_' "$here/exported"; then
	echo "^ exported by $library, and not choir_*"
	bad=1
fi
# A declaration may break after its name; the name itself stands on the CHOIR_API line.
sed -n 's/^CHOIR_API .*[ *]\(choir_[a-z0-9_]*\)(.*/\1/p' "$@" | sort >"$here/declared"
[ -s "$here/declared" ] || {
	echo "no CHOIR_API line was found in: $*"
	bad=1
}
if comm -23 "$here/declared" "$here/exported" | grep .; then
	echo "^ declared, but not exported by $library"
	bad=1
fi
if comm -13 "$here/declared" "$here/exported" | grep .; then
	echo "^ exported by $library, but declared in no public header"
	bad=1
fi
exit $bad
