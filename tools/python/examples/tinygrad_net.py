# SPDX-License-Identifier: MIT
"""A convolutional net of MNIST's size in tinygrad, data-parallel: through choir, and by tinygrad itself, in turns.

    DEV=CL POCL_DEVICES="pthread pthread" POCL_MAX_PTHREAD_COUNT=1 \\
        python -m choir -n 2 tools/python/examples/tinygrad_net.py --turns 5

Through choir each rank computes on a device of its own, and the gradients meet on the devices' queues.  By itself
tinygrad shards the batch over two devices of one process, and copies gradients between them through the host: rank 0
does that while rank 1 waits, and once trains with the whole batch on one device.  The data is made here.  Prints a
table of step times; exit status 1 if the ranks' weights differ in a bit, or the losses from either of tinygrad's by
more than 1e-5.
"""

import argparse
import ctypes
import os
import statistics
import sys
import tempfile
import time

from find_clang import find_clang

os.environ.setdefault("DEV", "CL")
os.environ.setdefault("PARALLEL", "0")
# tinygrad builds kernels in each process, and PoCL's cache on disk does not bear two that build at once.
os.environ.setdefault(
    "POCL_CACHE_DIR", f"{tempfile.gettempdir()}/choir-tinygrad-{os.getuid()}-{os.environ.get('RANK', '0')}"
)
find_clang()

import numpy as np
from tinygrad import Device, Tensor, TinyJit
from tinygrad.runtime import ops_cl

import choir
import choir.tinygrad

RATE = 0.02


def show_all_devices():
    """tinygrad opens a CPU platform's first device alone, unless its table is filled before."""
    cl = ops_cl.cl
    platform, n = (cl.cl_platform_id * 1)(), ctypes.c_uint32()
    ops_cl.check(cl.clGetPlatformIDs(1, platform, None))
    ops_cl.check(cl.clGetDeviceIDs(platform[0], cl.CL_DEVICE_TYPE_ALL, 0, None, n))
    if n.value < 2:
        sys.exit("two OpenCL devices are needed: POCL_DEVICES='pthread pthread' makes two of the CPU")
    ops_cl.CLDevice.device_ids = (cl.cl_device_id * n.value)()
    ops_cl.check(cl.clGetDeviceIDs(platform[0], cl.CL_DEVICE_TYPE_ALL, n, ops_cl.CLDevice.device_ids, None))


def batch(rows, seed):
    """Images of 28 x 28 whose class is where they are bright."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, rows)
    images = random.random((rows, 1, 28, 28), np.float32) - 0.5
    for row, label in enumerate(labels):
        images[row, 0, 2 * label : 2 * label + 8, 4:24] += 1
    return images, labels.astype(np.int32)


def start_weights():
    """The same on all ranks, since the seed is."""
    random = np.random.default_rng(7)
    shapes = {(16, 1, 5, 5): 25, (16,): 1e6, (32, 16, 5, 5): 400, (32,): 1e6, (512, 1024): 512, (1024,): 1e6,
              (1024, 10): 1024, (10,): 1e6}  # fmt: skip
    return [(random.standard_normal(shape) / np.sqrt(inputs)).astype(np.float32) for shape, inputs in shapes.items()]


def loss_of(w, images, labels):
    """The mean cross-entropy of the batch."""
    x = images.conv2d(w[0], w[1]).relu().max_pool2d((2, 2))
    x = x.conv2d(w[2], w[3]).relu().max_pool2d((2, 2)).flatten(1)
    x = (x @ w[4] + w[5]).relu() @ w[6] + w[7]
    return x.sparse_categorical_crossentropy(labels)


class Choir:
    """Each rank has its rows; gradients through choir, without a wait of the host."""

    def __init__(self, comm):
        self.comm = comm
        self.w = [Tensor(one).realize() for one in start_weights()]
        self.gradients = TinyJit(self._gradients)
        self.update = TinyJit(self._update)

    def _gradients(self, images, labels):
        loss = loss_of(self.w, images, labels)
        found = [one.contiguous() for one in loss.gradient(*self.w)]
        return Tensor.realize(loss, *found), loss, found

    def _update(self, *gradients):
        Tensor.realize(*(w.assign(w - RATE * g) for w, g in zip(self.w, gradients)))

    def step(self, images, labels):
        _, loss, found = self.gradients(images, labels)
        event = choir.tinygrad.allreduce(self.comm, found)
        self.update(*found)
        return loss, event

    def take(self, images, labels):
        rows = len(labels) // self.comm.size
        mine = slice(self.comm.rank * rows, (self.comm.rank + 1) * rows)
        return Tensor(images[mine]).realize(), Tensor(labels[mine]).realize()


class Alone(Choir):
    """One rank with the whole batch."""

    def __init__(self):
        super().__init__(None)

    def step(self, images, labels):
        _, loss, found = self.gradients(images, labels)
        self.update(*found)
        return loss, None

    def take(self, images, labels):
        return Tensor(images).realize(), Tensor(labels).realize()


class Itself:
    """tinygrad's own: the batch sharded over two devices of this process."""

    def __init__(self, devices):
        self.devices = devices
        self.w = [Tensor(one).realize().shard(devices).realize() for one in start_weights()]
        self.jit = TinyJit(self._step)

    def _step(self, images, labels):
        loss = loss_of(self.w, images, labels)
        found = loss.gradient(*self.w)
        Tensor.realize(loss, *(w.assign(w - RATE * g) for w, g in zip(self.w, found)))
        return loss

    def step(self, images, labels):
        return self.jit(images, labels), None

    def take(self, images, labels):
        return tuple(Tensor(one).realize().shard(self.devices, axis=0).realize() for one in (images, labels))


def train(net, given, turn):
    """The median time of a step in ms, and the loss of each."""
    seconds, losses = [], []
    for step in range(given.steps):
        mine = net.take(*batch(given.rows, 1000 * turn + step))
        Device[Device.DEFAULT].synchronize()
        if getattr(net, "comm", None) is not None:
            net.comm.barrier()
        start = time.perf_counter()
        loss, event = net.step(*mine)
        losses.append(loss.item())  # waits for the devices
        Device[Device.DEFAULT].synchronize()
        seconds.append(time.perf_counter() - start)
        if event is not None and event.exception() is not None:
            raise event.exception()
    return statistics.median(seconds[1:]) * 1000, losses


def same_bits(comm, tensors):
    """True if all ranks' tensors have the same bits."""
    mine = np.concatenate([one.numpy().ravel() for one in tensors]).view(np.int32)
    found = np.empty((comm.size, mine.size), np.int32)
    comm.allgather(mine, found)
    return bool((found == found[0]).all())


def by_choir(comm, given, turn):
    """A step's ms, the means of the ranks' losses, and whether their weights are equal to the bit."""
    net = Choir(comm)
    ms, losses = train(net, given, turn)
    means = np.array(losses)
    comm.allreduce(means, op="mean")
    return ms, means, same_bits(comm, net.w)


def by_itself(comm, given, turn):
    """A step's ms and the losses, on rank 0; the others wait."""
    found = train(Itself(("CL", "CL:1")), given, turn) if comm.rank == 0 else (None, None)
    comm.barrier()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rows", type=int, default=32, help="of the whole batch")
    given = parser.parse_args()
    show_all_devices()
    times, worst, alone, same = [], 0.0, 0.0, True
    with choir.from_environment(device=choir.tinygrad.device(), deadline=600) as comm:
        for turn in range(given.turns):
            ways = [by_choir, by_itself]
            found = {way: way(comm, given, turn) for way in (reversed(ways) if turn % 2 else ways)}
            (ours, means, equal), (theirs, whole) = found[by_choir], found[by_itself]
            same &= equal
            if comm.rank == 0:
                times.append((ours, theirs))
                worst = max(worst, float(np.abs(means - whole).max()))
                if turn == 0:
                    alone = float(np.abs(means - train(Alone(), given, turn)[1]).max())
            comm.barrier()
        if comm.rank == 0:
            print(f"tinygrad, {comm.size} ranks: a step in ms; {given.turns} turns of {given.steps} steps")
            print("  choir          ", *(f"{one[0]:8.1f}" for one in times))
            print("  tinygrad itself", *(f"{one[1]:8.1f}" for one in times))
            ratio = statistics.median(b / a for a, b in times)
            print(f"  median of {ratio:.2f} times as fast; weights of the ranks {'equal' if same else 'NOT equal'} to "
                  f"the bit; losses differ by {worst:.1e} at most, by {alone:.1e} from those of one rank with the "
                  "whole batch")  # fmt: skip
        return 0 if same and max(worst, alone) <= 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
