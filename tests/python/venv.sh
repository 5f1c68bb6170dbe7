#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the venv of these tests, once.  usage: venv.sh PYTHON VENV   77: PyPI does not give the packages.
set -eu
python=$1 venv=$2
packages="numpy pyopencl lightgbm tinygrad mpi4py mypy"
pins=$(dirname "$0")/../../tools/python/pins.txt
! cmp -s "$venv/complete" "$pins" || exit 0
rm -rf "$venv"
"$python" -m venv "$venv" || {
	echo "python3 -m venv failed (package python3-venv)"
	exit 1
}
# shellcheck disable=SC2086 # a list
timeout 400 "$venv/bin/pip" install --no-input --disable-pip-version-check --retries 1 --timeout 20 \
	--constraint "$pins" $packages || {
	rm -rf "$venv"
	echo "skipped: PyPI did not give the packages within 400 s"
	exit 77
}
cp "$pins" "$venv/complete"
