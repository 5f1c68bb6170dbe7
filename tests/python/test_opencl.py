# SPDX-License-Identifier: MIT
"""PyOpenCL's arrays and buffers on the machine's device: kernels and collectives chained by events alone."""

import os
import sys
import types
import unittest
import unittest.mock

import choir
import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from choir import _device
from choir._arrays import operand
from ranks import run_ranks

N = 2


class OpenCL(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device = choir.Device.default()
        cls.context = cl.Context.from_int_ptr(device.context, retain=True)
        cls.queue = cl.CommandQueue(cls.context)
        cls.program = cl.Program(
            cls.context, "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
        ).build()

    def test_device_of_queue(self):
        device = choir.Device.of_queue(self.queue)
        self.assertEqual(device.context, self.context.int_ptr)
        self.assertEqual(device.device_id, self.queue.device.int_ptr)
        again = choir.Device.of_context(self.context, self.queue.device, memory_class="stage")
        self.assertEqual(again.memory_class, choir.MemoryClass.STAGE)
        self.assertIn("stage", repr(again))

    def test_default_is_of_the_local_rank(self):
        """Each rank of a machine has its own GPU."""
        asked = []
        names = ("LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
        refuses = unittest.mock.patch.object(
            _device.lib, "choir_device_create_default", lambda rank, out: asked.append(rank) or choir.Status.OPENCL
        )
        for env in ({}, {"LOCAL_RANK": "2"}, {"SLURM_LOCALID": "3"}, {"SLURM_LOCALID": "3", "MPI_LOCALRANKID": "4"},
                    {"LOCAL_RANK": "", "MPI_LOCALRANKID": "5"}):  # fmt: skip
            with unittest.mock.patch.dict(os.environ, env), refuses:
                for name in set(names) - set(env):
                    os.environ.pop(name, None)
                with self.assertRaises(choir.OpenCLError):
                    choir.threads(1, "default")
        with refuses, self.assertRaises(choir.OpenCLError):
            choir.Device.default(7)
        self.assertEqual(asked, [0, 2, 3, 4, 5, 7])

    def test_arrays(self):
        def fn(comm):
            queue = cl.CommandQueue(self.context)
            x = cl_array.to_device(queue, np.arange(1000, dtype=np.float32) + comm.rank)
            y = cl_array.zeros(queue, 1000, np.float32)
            queue.finish()
            comm.allreduce(x, y)
            np.testing.assert_array_equal(y.get(), np.arange(1000) * 2 + 1)
            comm.allreduce(y[10:20])  # a view: an offset into the buffer
            out = y.get()
            np.testing.assert_array_equal(out[10:20], (np.arange(10, 20) * 2 + 1) * 2)
            self.assertEqual((out[9], out[20]), (19, 41))
            with self.assertRaisesRegex(choir.ArgumentError, "one after another"):
                comm.allreduce(x[::2])

        run_ranks(N, fn, self.queue)

    def test_ocl_tensors(self):
        """A stand-in for pytorch_ocl's tensors: the storage's pointer is the cl_mem, larger than asked for."""
        waited = []

        class Tensor(types.SimpleNamespace):
            def __init__(self, buffer, offset, count):
                storage = types.SimpleNamespace(data_ptr=lambda: buffer.int_ptr)
                super().__init__(dtype="torch.float32", layout="strided", device=types.SimpleNamespace(type="ocl"),
                                 is_contiguous=lambda: True, numel=lambda: count, element_size=lambda: 4,
                                 storage_offset=lambda: offset, untyped_storage=lambda: storage)  # fmt: skip

        Tensor.__module__ = "torch"
        torch = types.SimpleNamespace(strided="strided", ocl=types.SimpleNamespace(synchronize=waited.append))

        def fn(comm):
            buffer = cl.Buffer(self.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(16, dtype=np.float32))
            comm.allreduce(Tensor(buffer, 3, 10))
            out = np.zeros(16, np.float32)
            cl.enqueue_copy(cl.CommandQueue(self.context), out, buffer)
            np.testing.assert_array_equal(out, [*range(3), *range(6, 26, 2), *range(13, 16)])
            self.assertEqual(cl.Buffer.from_int_ptr(buffer.int_ptr).context, self.context)

        with unittest.mock.patch.dict(sys.modules, torch=torch):
            run_ranks(N, fn, self.queue)
        self.assertEqual([one.type for one in waited], ["ocl"] * N)

    def test_buffers(self):
        def fn(comm):
            queue = cl.CommandQueue(self.context)
            start = np.full(64, comm.rank + 1, np.int32)
            buffer = cl.Buffer(self.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=start)
            comm.allreduce(choir.View(buffer, "int32", offset_bytes=128))
            out = np.zeros(64, np.int32)
            cl.enqueue_copy(queue, out, buffer)
            np.testing.assert_array_equal(out, [comm.rank + 1] * 32 + [3] * 32)
            raw = choir.View(buffer.int_ptr, "int32", 32, kind="mem")
            comm.broadcast(raw, root=1)
            cl.enqueue_copy(queue, out, buffer)
            np.testing.assert_array_equal(out[:32], 2)

        run_ranks(N, fn, self.queue)

    def test_to_cl(self):
        def fn(comm):
            queue = cl.CommandQueue(self.context)
            twice = cl.Kernel(self.program, "twice")
            x = cl_array.to_device(queue, np.ones(100, np.float32))
            event = comm.allreduce(x, wait=False, after=queue)
            ended = cl.Event.from_int_ptr(event.to_cl(), retain=False)
            twice(queue, (100,), None, x.data, wait_for=[ended])
            np.testing.assert_array_equal(x.get(queue), 4)

        run_ranks(N, fn, self.queue)

    def test_sparse(self):
        def fn(comm):
            queue = cl.CommandQueue(self.context)
            indices = cl_array.to_device(queue, np.array([4, comm.rank], np.int64))
            values = cl_array.to_device(queue, np.ones((2, 3), np.float32))
            queue.finish()
            i, v = comm.sparse_allreduce(indices, values)
            np.testing.assert_array_equal(i, [0, 1, 4])
            np.testing.assert_array_equal(v, [[1, 1, 1], [1, 1, 1], [2, 2, 2]])
            i, v = comm.sparse_allreduce(indices, values, make=lambda n, name: cl_array.zeros(queue, n, name))
            np.testing.assert_array_equal(v.get(), [1] * 6 + [2] * 3)

        run_ranks(N, fn, self.queue)

    def test_fortran_order(self):
        x = cl_array.to_device(self.queue, np.asfortranarray(np.zeros((2, 3), np.float32)))
        with self.assertRaisesRegex(choir.ArgumentError, "Fortran order.*array.T"):
            operand(x)
        self.assertEqual(operand(x.T).count, 6)

    def test_host_memory_alone(self):
        with choir.threads(1) as (comm,):
            x = cl_array.zeros(self.queue, 4, np.float32)
            with self.assertRaisesRegex(choir.UnsupportedError, "host memory alone"):
                comm.allreduce(x)


if __name__ == "__main__":
    unittest.main()
