#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the venv's Python.  usage: in_venv.sh VENV ARGUMENT...   77: venv.sh could not make the venv.
set -eu
venv=$1
shift
[ -e "$venv/complete" ] || {
	echo "skipped: there is no venv, since PyPI could not be reached"
	exit 77
}
exec "$venv/bin/python" "$@"
