#!/bin/sh
# SPDX-License-Identifier: MIT
# The package as a stranger installs it: a new venv, pip install ./tools/python, and the README's program on two
# processes.  usage: install.sh PYTHON ROOT FOLDER   77: PyPI does not give the packages.
set -eu
python=$1 root=$2 folder=$3
# Unbuffered, a line is two writes, and the lines of two processes may mix.
unset CHOIR_LIBRARY PYTHONPATH PYTHONUNBUFFERED
rm -rf "$folder"
"$python" -m venv "$folder"
pip="$folder/bin/pip --no-input --disable-pip-version-check"
# shellcheck disable=SC2086 # a list
timeout 400 $pip --retries 1 --timeout 20 install 'scikit-build-core>=0.10' || {
	echo "skipped: PyPI did not give the packages within 400 s"
	exit 77
}
# Without isolation: what builds it was just installed, and pip asks PyPI for nothing more.
$pip install --no-build-isolation "$root/tools/python"
cd "$folder"
out=$("$folder/bin/python" -m choir -n 2 "$root/tools/python/examples/first.py" | sort)
expected="rank 0 of 2: [2.0, 20.0, 200.0, 2000.0]
rank 1 of 2: [2.0, 20.0, 200.0, 2000.0]"
[ "$out" = "$expected" ] || {
	echo "the program printed: $out"
	exit 1
}
"$folder/bin/python" -m choir | tee versions.txt
grep -q "^libchoir  *$folder/.*/choir/lib/libchoir.so" versions.txt
test -e "$folder"/lib/python*/site-packages/choir/lib/libchoir-lightgbm.so
"$folder/bin/python" -c '
import choir, importlib.metadata, pathlib
assert importlib.metadata.version("choir") == choir.__version__
backends = importlib.metadata.distribution("choir").entry_points
assert [(one.name, one.value) for one in backends if one.group == "torch.distributed.backends"] == [
    ("choir", "choir.torch:register")]
assert (pathlib.Path(choir.__file__).parent / "py.typed").exists()'
# The system's own library, where that is asked for.
mkdir system
cp "$folder"/lib/python*/site-packages/choir/lib/libchoir.so.0 system
CHOIR_LIBRARY=system LD_LIBRARY_PATH=$folder/system "$folder/bin/python" -m choir | tee versions.txt
grep -q "^libchoir  *$folder/system/libchoir.so" versions.txt
# It has no hooks for LightGBM there: the wheel's are taken, with the system's libchoir.
CHOIR_LIBRARY=system LD_LIBRARY_PATH=$folder/system "$folder/bin/python" -c '
import choir._library, choir.lightgbm
choir.lightgbm._load()
(library,) = choir._library.loaded("libchoir.so")
assert "/system/" in library, library'
# A folder that lacks the library is said, not passed over.
if CHOIR_LIBRARY=/nonexistent "$folder/bin/python" -c 'import choir' 2>said.txt; then
	echo "choir was imported without its library"
	exit 1
fi
grep -q "ImportError: libchoir.so.0 cannot be loaded: /nonexistent" said.txt
