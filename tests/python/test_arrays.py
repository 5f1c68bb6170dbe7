# SPDX-License-Identifier: MIT
"""What a call takes as an array, and what it refuses, in words."""

import array
import ctypes
import gc
import sys
import unittest

import choir
import numpy as np
from choir._arrays import _PyBuffer, dtype_of, operand


class Taken(unittest.TestCase):
    def test_numpy(self):
        for name in "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 bool".split():
            x = np.zeros((3, 5), name)
            a = operand(x)
            self.assertEqual((a.buffer.base, a.count, a.writable), (x.ctypes.data, 15, True), name)
            self.assertEqual(choir.DType(a.dtype), dtype_of(name))

    def test_numpy_views(self):
        x = np.arange(20, dtype=np.float32)
        self.assertEqual(operand(x[4:]).buffer.base, x.ctypes.data + 16)
        self.assertEqual(operand(np.asfortranarray(x.reshape(4, 5)).T).count, 20)
        self.assertEqual(operand(np.empty(0, np.float32)).count, 0)
        self.assertEqual(operand(np.float32([[1]])).count, 1)

    def test_buffer_protocol(self):
        for x, count, dtype, writable in (
            (bytearray(8), 8, choir.DType.U8, True),
            (b"12345", 5, choir.DType.U8, False),
            (array.array("d", [1, 2]), 2, choir.DType.F64, True),
            (array.array("q", [1, 2, 3]), 3, choir.DType.I64, True),
            (memoryview(bytearray(8)).cast("f"), 2, choir.DType.F32, True),
            ((ctypes.c_int32 * 4)(), 4, choir.DType.I32, True),
        ):
            a = operand(x)
            self.assertEqual((a.count, a.dtype, a.writable), (count, dtype, writable))
        x = array.array("d", [1, 2])
        self.assertEqual(operand(x).buffer.base, x.buffer_info()[0])

    def test_array_interface(self):
        class Foreign:
            def __init__(self, x):
                self.__array_interface__ = x.__array_interface__

            __array_interface__ = None

        x = np.arange(6, dtype=np.int32).reshape(2, 3)
        a = operand(Foreign(x))
        self.assertEqual((a.buffer.base, a.count, a.dtype), (x.ctypes.data, 6, choir.DType.I32))
        with self.assertRaisesRegex(choir.ArgumentError, "one after another"):
            operand(Foreign(x[:, ::2]))

    def test_view(self):
        raw = bytearray(64)
        whole = operand(raw)
        a = operand(choir.View(raw, "float32", offset_bytes=8))
        self.assertEqual((a.count, a.dtype, a.buffer.offset_bytes), (14, choir.DType.F32, 8))
        self.assertEqual(a.buffer.base, whole.buffer.base)
        self.assertEqual(operand(choir.View(whole.buffer.base, "u8", 3, kind="host")).count, 3)
        bf16 = operand(choir.View(np.zeros(6, np.uint16), "bfloat16"))
        self.assertEqual((bf16.count, bf16.dtype), (6, choir.DType.BF16))
        small = operand(choir.View(np.zeros(6, np.uint8), "float8_e4m3fn"))
        self.assertEqual((small.count, small.dtype), (6, choir.DType.F8E4M3))
        for wrong in ({"count": 17}, {"offset_bytes": 65}):
            with self.assertRaisesRegex(choir.ArgumentError, "too short for [0-9]+ element"):
                operand(choir.View(raw, "f32", **wrong))
        with self.assertRaisesRegex(choir.ArgumentError, "count is needed"):
            choir.View(12345, "f32", kind="mem")


    def test_pairs(self):
        for value, pair in (("f4", "F32"), ("f8", "F64"), ("i4", "I32"), ("i8", "I64")):
            x = np.zeros(5, np.dtype([("value", value), ("index", "i4")], align=True))
            self.assertEqual((operand(x).count, operand(x).dtype), (5, choir.DType[pair + "_I32"]))
        x = np.array([(1.5, 4), (-2, 0)], np.dtype([("value", "f8"), ("index", "i4")], align=True))
        with choir.threads(1) as (comm,):
            comm.allreduce(x, y := np.zeros_like(x), op="minloc")
        self.assertEqual(y.tolist(), x.tolist())


class Refused(unittest.TestCase):
    def refused(self, x, words):
        with self.assertRaisesRegex(choir.ArgumentError, words):
            operand(x)

    def test_refused(self):
        self.refused(np.zeros((4, 4))[:, ::2], "one after another")
        self.refused(np.zeros(4, np.complex64), "no data type")
        self.refused(np.zeros(4, ">f4"), "byte order")
        self.refused(np.zeros(4, np.dtype([("value", "f8"), ("index", "i4")])), "align=True")
        self.refused(np.zeros(4, np.dtype([("value", "f4"), ("index", "i8")])), "align=True")
        self.refused(object(), "neither the buffer protocol")
        self.refused([1.0, 2.0], "neither the buffer protocol")
        self.refused(memoryview(bytearray(8))[::2], "one after another")

    def test_fortran_order(self):
        x = np.asfortranarray(np.arange(20, dtype=np.float32).reshape(4, 5))
        self.refused(x, "Fortran order.*array.T")
        x.flags.writeable = False
        self.refused(x, "Fortran order.*array.T")

    def test_numpy_scalars(self):
        for x in (np.float32(3), np.int64(1), np.bool_(True), np.ones(3).mean()):
            self.refused(x, "NumPy scalar.*numpy.array")
        self.assertEqual(operand(np.array(np.float32(3))).count, 1)

    def test_item_size(self):
        """Elements whose size is not that of their format on this machine, as standard sizes are ("<l": 4 bytes)."""
        memory, words, shape, strides = bytearray(8), b"<l", ctypes.c_ssize_t(2), ctypes.c_ssize_t(4)
        base = ctypes.addressof((ctypes.c_char * 8).from_buffer(memory))
        raw = _PyBuffer(
            buf=base, len=8, itemsize=4, readonly=0, ndim=1, format=words, shape=ctypes.addressof(shape),
            strides=ctypes.addressof(strides),
        )  # fmt: skip
        make = ctypes.pythonapi.PyMemoryView_FromBuffer
        make.argtypes, make.restype = [ctypes.POINTER(_PyBuffer)], ctypes.py_object
        self.refused(make(ctypes.byref(raw)), "'<l' are 4 bytes here, I64 has 8")

    def test_calls(self):
        with choir.threads(1) as (comm,):
            read_only = np.zeros(4, np.float32)
            read_only.flags.writeable = False
            x = np.zeros(4, np.float32)
            for call, words in (
                (lambda: comm.allreduce(read_only), "cannot be written"),
                (lambda: comm.allreduce(b"1234"), "cannot be written"),
                (lambda: comm.allreduce(x, np.zeros(4)), "send is F32, recv is F64"),
                (lambda: comm.allreduce(x, x[:3]), "recv has 3 elements, the call needs 4"),
                (lambda: comm.allreduce(x, op="median"), "no operator"),
                (lambda: comm.allgatherv(x, x, [4, 0]), "2 numbers, the comm 1 rank"),
                (lambda: comm.allgatherv(x, x, [-4]), "counts.0. is -4, it must be an integer from 0"),
                (lambda: comm.allreduce(x, after=object()), "neither an OpenCL queue"),
                (lambda: comm.broadcast(x, root=3), "no rank 3"),
                (lambda: comm.allreduce(x, x[1:], wait=True), "recv has 3"),
            ):
                with self.assertRaisesRegex(choir.ArgumentError, words):
                    call()
            comm.allreduce(read_only, x)  # to be read is enough for send
            with self.assertRaisesRegex(choir.UnsupportedError, "band"):
                comm.allreduce(x, op="band")
        with self.assertRaisesRegex(choir.ArgumentError, "null comm|comm is"):
            comm.allreduce(x)


class Alive(unittest.TestCase):
    def in_flight(self, comms, call, *arrays):
        """call(comm) of rank 0 returns its event: until it is complete none of the arrays can be resized."""
        event = call(comms[0])
        for one in arrays:
            with self.assertRaises(BufferError):
                one.extend(one)
        call(comms[1])
        event.wait()
        for one in arrays:
            one.extend(one)

    def test_resized_in_flight(self):
        """A bytearray or array.array that grows would move away from under the collective."""
        with choir.threads(2, deadline=30) as comms:
            for call in (
                lambda comm: comm.allreduce(x[comm.rank], y[comm.rank], wait=False),
                lambda comm: comm.allreduce(x[comm.rank], choir.View(y[comm.rank], "u8"), wait=False),
                lambda comm: comm.allreduce_multi([(x[comm.rank], y[comm.rank])], wait=False),
                lambda comm: comm.reduce_scatter_padded_multi([(x[comm.rank], y[comm.rank])], wait=False),
                lambda comm: comm.allreduce_init(x[comm.rank], y[comm.rank]).start(wait=False),
                lambda comm: choir.Sequence([comm.allreduce_init(x[comm.rank], y[comm.rank])]).start(wait=False),
            ):
                x, y = [bytearray(8) for _ in comms], [array.array("B", bytes(8)) for _ in comms]
                self.in_flight(comms, call, x[0], y[0])
            indices, rows = [array.array("q", [1]) for _ in comms], [array.array("f", [2]) for _ in comms]
            self.in_flight(comms, lambda comm: comm.sparse_allreduce(indices[comm.rank], rows[comm.rank], wait=False),
                           indices[0], rows[0])  # fmt: skip
            states = [choir.TopK(comm, 4, density=0.5) for comm in comms]
            x, y = ([array.array("f", [1, 2, 3, 4]) for _ in comms] for _ in range(2))
            self.in_flight(comms, lambda comm: states[comm.rank].allreduce(x[comm.rank], y[comm.rank], wait=False),
                           x[0], y[0])  # fmt: skip

    def test_resized_in_a_group(self):
        with choir.threads(2, deadline=30) as comms:
            x = [bytearray(8) for _ in comms]
            with choir.group():
                for comm in comms:
                    comm.allreduce(x[comm.rank])
                with self.assertRaises(BufferError):
                    x[0].append(1)
            x[0].append(1)

    def test_request_that_is_closed(self):
        """It lets go of its arrays; a sequence and a call that was started go on to hold them."""
        with choir.threads(2, deadline=30) as comms:
            x = [bytearray([1]) for _ in comms]
            requests = [comm.allreduce_init(x[comm.rank]) for comm in comms]
            both = [choir.Sequence([one]) for one in requests]
            event = both[0].start(wait=False)
            with self.assertRaises(BufferError):
                x[0].append(1)
            both[1].start(wait=False)
            event.wait()
            for one in both + requests:
                one.close()
            x[0].append(1)
            with comms[0].allreduce_init(x[0]) as request:
                event = request.start(wait=False)
            with self.assertRaises(BufferError):
                x[0].append(1)
            comms[1].allreduce(bytearray(2))
            event.wait()
            x[0].append(1)
            self.assertEqual(x[0], bytearray([2, 1, 1]))

    def test_resized_chunks(self):
        """Those of chunks are in use as long as these are."""
        with choir.threads(2, deadline=30) as comms:
            shards, sends = [bytearray(2), bytearray(2)], [bytearray(4), bytearray(4)]
            parts = choir.chunks.Chunks(shards)
            choir.chunks.reduce_scatter(comms, sends, parts)
            with self.assertRaises(BufferError):
                shards[0].append(1)
            sends[0].append(1)

    def test_resized_pairs(self):
        values, out = array.array("f", [3, 1, 2]), (array.array("q", [0]), array.array("f", [0]))
        event = choir.pairs.select_top(values, 1, out, wait=False)
        for one in (values, *out):
            with self.assertRaises(BufferError):
                one.append(1)
        event.wait()
        values.append(1)
        self.assertEqual((out[0][0], out[1][0]), (0, 3))

    def test_arrays_of_dropped_events(self):
        """An array lives until its collective is complete, though the program holds neither."""
        with choir.threads(2) as comms:
            x = np.ones(1000, np.float32)
            before = sys.getrefcount(x)
            comms[0].allreduce(x, wait=False)  # the event is dropped at once
            gc.collect()
            self.assertGreater(sys.getrefcount(x), before)
            comms[1].allreduce(np.ones(1000, np.float32), wait=False).wait()
            comms[0].barrier(wait=False)
            comms[1].barrier(wait=False).wait()
            self.assertEqual(x[999], 2)
            comms[0].barrier(wait=False), comms[1].barrier(wait=False).wait()
            self.assertEqual(sys.getrefcount(x), before)


if __name__ == "__main__":
    unittest.main()
