# SPDX-License-Identifier: MIT
"""sparse_allreduce on ranks that are threads, its results in arrays of NumPy's and of the caller's."""

import array
import unittest

import choir
import numpy as np
from ranks import run_ranks

N = 3


class Sparse(unittest.TestCase):
    def test_rows(self):
        def fn(comm):
            indices = np.array([comm.rank, 100, 7, 7], np.int64)
            values = np.arange(8, dtype=np.float32).reshape(4, 2) + comm.rank
            i, v = comm.sparse_allreduce(indices, values)
            np.testing.assert_array_equal(i, [0, 1, 2, 7, 100])
            np.testing.assert_array_equal(v, [[0, 1], [1, 2], [2, 3], [36, 42], [9, 12]])
            self.assertEqual((i.dtype, v.dtype), (np.int64, np.float32))
            event = comm.sparse_allreduce(indices.astype(np.int32), values[:, 0].copy(), "max", wait=False)
            i, v = event.wait()
            np.testing.assert_array_equal(v, [0, 1, 2, 8, 4])
            self.assertEqual(event.stats()["pairs_in"], 4)
            self.assertIs(event.wait()[0], i)
            i, v = comm.sparse_allreduce(indices[:0], values[:0])
            self.assertEqual((i.shape, v.shape), ((0,), (0, 2)))
            i, v = comm.sparse_allreduce(indices, values, coalesce="disable")
            np.testing.assert_array_equal(i[:5], [0, 100, 7, 7, 1])
            made = comm.sparse_allreduce(indices, values, make=lambda n, name: bytearray(n * np.dtype(name).itemsize)
                                         if name == "uint8" else np.zeros(n, name))  # fmt: skip
            np.testing.assert_array_equal(made[0], [0, 1, 2, 7, 100])
            flat = bytearray(values)
            for rows in values.ravel(), array.array("f", values.ravel()), choir.View(flat, "float32"):
                i, v = comm.sparse_allreduce(indices, rows)
                np.testing.assert_array_equal(v, [[0, 1], [1, 2], [2, 3], [36, 42], [9, 12]])

        run_ranks(N, fn)

    def test_refused(self):
        def fn(comm):
            with self.assertRaisesRegex(choir.UnsupportedError, "indices are i32 or i64"):
                comm.sparse_allreduce(np.zeros(3, np.float32), np.zeros(3, np.float32))

        run_ranks(1, fn)

    def test_makers_arrays_are_looked_at(self):
        with choir.threads(1) as (comm,):
            memory = np.full(64, 7, np.uint8)
            fixed = np.zeros(6, np.float32)
            fixed.flags.writeable = False
            for made, sentence in ((memory[:8].view(np.int64), "indices has 1 element, the call needs 6"),
                                   (np.zeros(6, np.int32), "indices is I32, not I64"),
                                   (fixed, "values cannot be written")):  # fmt: skip
                name = "float32" if made is fixed else "int64"

                def make(n, given, made=made, name=name):
                    return made if given == name else np.zeros(n, given)

                event = comm.sparse_allreduce(np.arange(6), np.ones(6, np.float32), make=make, wait=False)
                with self.assertRaisesRegex(choir.ArgumentError, "make's array of " + sentence):
                    event.wait()
            np.testing.assert_array_equal(memory, 7)


if __name__ == "__main__":
    unittest.main()
