#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the venv of these tests, once.  usage: venv.sh PYTHON VENV   77: PyPI cannot be reached.
set -eu
python=$1 venv=$2
packages="numpy pyopencl lightgbm tinygrad mpi4py"
pins=$(dirname "$0")/../../tools/python/pins.txt
! cmp -s "$venv/complete" "$pins" || exit 0
rm -rf "$venv"
"$python" -m venv "$venv" || {
	echo "python3 -m venv failed (package python3-venv)"
	exit 1
}
# shellcheck disable=SC2086 # a list
if ! "$venv/bin/pip" install --no-input --disable-pip-version-check --retries 1 --timeout 20 \
	--constraint "$pins" $packages; then
	echo "skipped: PyPI could not be reached"
	exit 77
fi
cp "$pins" "$venv/complete"
