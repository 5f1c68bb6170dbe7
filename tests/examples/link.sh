#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs choir, moves the installed tree, builds docs/examples/link-* against it and runs the results.
# usage: link.sh cmake|pkgconfig CMAKE BUILD WORK EXAMPLES LIBDIR MPIEXEC CC
set -eu
way=$1 cmake=$2 build=$3 work=$4 examples=$5 libdir=$6 mpiexec=$7 cc=$8
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
# What is installed must not know where it was built.
if grep -rlIF -e "$build" -e "$work/first" "$prefix"; then
	echo "^ holds a path of the build"
	exit 1
fi
# What the Python package needs beside libchoir, which it finds there.
ldd "$prefix/$libdir/libchoir-lightgbm.so" | grep "libchoir.so.0 => $prefix/"

case $way in
cmake)
	"$cmake" -S "$examples/link-cmake" -B "$work/out" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
		>"$work/cmake.log"
	"$cmake" --build "$work/out" >>"$work/cmake.log"
	;;
pkgconfig)
	mkdir "$work/out"
	make -C "$examples/link-pkgconfig" CC="$cc" OUT="$work/out" PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" \
		>"$work/make.log"
	LD_LIBRARY_PATH=$prefix/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	;;
esac
"$work/out/devices" 2
"$mpiexec" -n 2 "$work/out/first" | sort
