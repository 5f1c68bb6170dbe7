# SPDX-License-Identifier: MIT
"""Twenty kernels of PyOpenCL and allreduces of what they computed, chained by events: on each OpenCL of the machine,
and with one rank on each of two.  A layer (tests/layer/waits.c) counts what the host waits for: nothing.

usage: test_pipeline.py rank: as a rank of python -m choir, which takes the OpenCL of its number
"""

import subprocess
import sys
import unittest

import choir
import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from ranks import host_waits, run_ranks

KERNEL = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
COUNT, TURNS = 5000, 20


def devices():
    """One of each OpenCL."""
    return [found[0] for found in (platform.get_devices() for platform in cl.get_platforms()) if found]


def pipeline(comm, context):
    """Each turn doubles, and adds what the two ranks have: 4 times as much."""
    queue = cl.CommandQueue(context)
    twice = cl.Kernel(cl.Program(context, KERNEL).build(), "twice")
    x = cl_array.to_device(queue, np.ones(COUNT, np.float32))
    comm.allreduce(x, op="max", after=queue)
    before = host_waits()
    for turn in range(TURNS):
        done = twice(queue, (COUNT,), None, x.data)
        event = comm.allreduce(x, wait=False, after=queue if turn % 2 else done)
        choir.queue_wait(queue, event)
    assert host_waits() == before, f"the host waited {host_waits() - before} times"
    np.testing.assert_array_equal(x.get(queue), 4.0**TURNS)
    assert host_waits() > before, "no wait is counted"
    assert event.exception() is None


def calls_that_block(context, queue):
    """Each call in which the host can wait for a copy or a map, as a function of: does it?"""
    host, flags = np.zeros((4, 4), np.uint8), cl.map_flags.READ
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes)
    rect = dict(buffer_origin=(0, 0, 0), host_origin=(0, 0, 0), region=(4, 4, 1))
    calls = {
        "read": lambda blocks: cl.enqueue_copy(queue, host, buffer, is_blocking=blocks),
        "write": lambda blocks: cl.enqueue_copy(queue, buffer, host, is_blocking=blocks),
        "read_rect": lambda blocks: cl.enqueue_copy(queue, host, buffer, is_blocking=blocks, **rect),
        "write_rect": lambda blocks: cl.enqueue_copy(queue, buffer, host, is_blocking=blocks, **rect),
        "map": lambda blocks: cl.enqueue_map_buffer(queue, buffer, flags, 0, (16,), np.uint8, is_blocking=blocks),
    }
    if context.devices[0].image_support:
        form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
        image = cl.create_image(context, cl.mem_flags.READ_WRITE, form, shape=(1, 4))
        at = dict(origin=(0, 0), region=(1, 4))
        calls["read_image"] = lambda blocks: cl.enqueue_copy(queue, host, image, is_blocking=blocks, **at)
        calls["write_image"] = lambda blocks: cl.enqueue_copy(queue, image, host, is_blocking=blocks, **at)
        calls["map_image"] = lambda blocks: cl.enqueue_map_image(
            queue, image, flags, (0, 0), (1, 4), (4, 4), np.uint8, is_blocking=blocks
        )
    return calls


class Pipeline(unittest.TestCase):
    def test_what_is_counted(self):
        for device in devices():
            context = cl.Context([device])
            queue = cl.CommandQueue(context)
            for name, call in calls_that_block(context, queue).items():
                for blocks in (True, False):
                    with self.subTest(name, platform=device.platform.name, blocks=blocks):
                        before = host_waits()
                        kept = call(blocks)  # what PyOpenCL returns waits when it is dropped
                        self.assertEqual(host_waits() - before, int(blocks))
                        queue.finish()
                        del kept

    def run_on(self, *chosen):
        """A rank, which is a thread, on each of these devices."""
        contexts = [cl.Context([device]) for device in chosen]
        queues = [cl.CommandQueue(context) for context in contexts]
        run_ranks(len(chosen), lambda comm: pipeline(comm, contexts[comm.rank]), queues)

    def test_each(self):
        for device in devices():
            with self.subTest(device.platform.name):
                self.run_on(device, device)

    @unittest.skipIf(len(devices()) < 2, "the machine, or OCL_ICD_VENDORS, has one OpenCL")
    def test_one_rank_on_each(self):
        first, second = devices()[:2]
        self.run_on(first, second)
        self.run_on(second, first)
        command = [sys.executable, "-m", "choir", "-n", "2", __file__, "rank"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout)
        for rank, device in enumerate((first, second)):
            self.assertIn(f"rank {rank} on {device.platform.name} passed\n", done.stdout)


def main():
    import os

    device = devices()[int(os.environ["RANK"])]
    context = cl.Context([device])
    with choir.from_environment(device=cl.CommandQueue(context), deadline=60) as comm:
        pipeline(comm, context)
        print(f"rank {comm.rank} on {device.platform.name} passed\n", end="", flush=True)


if __name__ == "__main__":
    main() if sys.argv[1:] == ["rank"] else unittest.main()
