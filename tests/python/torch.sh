#!/bin/sh
# SPDX-License-Identifier: MIT
# The backend of torch.distributed on N ranks, with Debian's python3-torch.
# usage: torch.sh PYTHON N PROGRAM ARGUMENT...
set -eu
python=$1 n=$2
shift 2
"$python" -c 'import torch' 2>/dev/null || {
	echo "skipped: there is no python3-torch (tools/check installs it)"
	exit 77
}
# The ranks share few cores: more threads than one each only wait for each other.
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
exec "$python" -W ignore -m choir -n "$n" "$@"
