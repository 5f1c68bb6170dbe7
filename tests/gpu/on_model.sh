#!/bin/sh
# SPDX-License-Identifier: MIT
# on_model.sh LAYER OPTIONS COMMAND...: runs the command on the model GPU, with a random seed unless the options name
# one.
set -eu
layer=$1 options=$2
shift 2
case $options in
*seed=*) ;;
*) options=$options,seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ') ;;
esac
echo "gpu model: GPU_MODEL=$options" >&2
GPU_MODEL=$options
OPENCL_LAYERS=${OPENCL_LAYERS:+$OPENCL_LAYERS:}$layer
export GPU_MODEL OPENCL_LAYERS
exec "$@"
