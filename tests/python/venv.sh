#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the venv of these tests, once.  usage: venv.sh PYTHON VENV   77: PyPI cannot be reached.
set -eu
python=$1 venv=$2
[ ! -e "$venv/complete" ] || exit 0
rm -rf "$venv"
"$python" -m venv "$venv" || {
	echo "python3 -m venv failed (package python3-venv)"
	exit 1
}
if ! "$venv/bin/pip" install --no-input --disable-pip-version-check --retries 1 --timeout 20 numpy pyopencl; then
	echo "skipped: PyPI could not be reached"
	exit 77
fi
touch "$venv/complete"
