#!/bin/sh
# SPDX-License-Identifier: MIT
# on_model.sh LAYER OPTIONS COMMAND...: runs the command on the model GPU.  Its seed is that of the options, else
# CHOIR_TEST_SEED, else 1.
set -eu
layer=$1 options=$2
shift 2
case $options in
*seed=*) ;;
*) options=$options,seed=${CHOIR_TEST_SEED:-1} ;;
esac
echo "gpu model: GPU_MODEL=$options" >&2
GPU_MODEL=$options
OPENCL_LAYERS=${OPENCL_LAYERS:+$OPENCL_LAYERS:}$layer
export GPU_MODEL OPENCL_LAYERS
exec "$@"
