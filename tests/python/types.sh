#!/bin/sh
# SPDX-License-Identifier: MIT
# The types of the package, by mypy.  usage: types.sh PACKAGE CACHE   77: there is no mypy.
set -eu
mypy --version 2>/dev/null || {
	echo "skipped: mypy is not installed (pip install mypy)"
	exit 77
}
cd "$1"
exec mypy --cache-dir "$2"
