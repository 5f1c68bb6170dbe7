# SPDX-License-Identifier: MIT
"""Calls leave nothing behind: the process does not grow with their number.  CHOIR_TEST_LONG=1: a million calls."""

import gc
import os
import threading
import unittest

import choir
import numpy as np

TIMES = 5 if os.environ.get("CHOIR_TEST_LONG") == "1" else 1


def resident_bytes():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Memory(unittest.TestCase):
    def grows(self, call, n, end=lambda: None):
        for _ in range(2000):
            call()
        end()
        before = resident_bytes()
        for _ in range(n):
            call()
        end()
        return resident_bytes() - before

    def test_calls(self):
        with choir.threads(1, deadline=60) as (comm,):
            x = np.ones(1, np.float32)
            indices, rows = np.array([3, 1]), np.ones((2, 2), np.float32)
            request = comm.allreduce_init(x)
            to, to_rows = np.zeros(4, np.int64), np.zeros((4, 2), np.float32)
            kept_rows = comm.sparse_allreduce_init(indices, rows, to, to_rows)
            both = choir.Sequence([request, request])

            def dropped():
                comm.allreduce(x, wait=False)

            def called_back():
                called = threading.Event()
                comm.allreduce(x, wait=False).add_done_callback(lambda event: called.set())
                called.wait()

            def end():
                comm.barrier(wait=False).wait()

            for call, n in (
                (lambda: comm.allreduce(x), 200000),
                (request.start, 100000),
                (lambda: comm.allreduce(x, wait=False).wait(), 10000),
                (dropped, 10000),
                (called_back, 10000),
                (lambda: comm.sparse_allreduce(indices, rows), 3000),
                (kept_rows.start, 3000),
                (both.start, 10000),
                (lambda: comm.allreduce_init(x).close(), 10000),
                (lambda: comm.allreduce_multi([x, to]), 10000),
            ):
                # 100 bytes a call would be seen.  The allocators may take megabytes once; what leaks grows each time.
                most = max(100 * n, 1 << 20)
                self.assertTrue(any(self.grows(call, n * TIMES, end) < most for _ in range(3)), call)
            for one in (both, request, kept_rows):
                one.close()


if __name__ == "__main__":
    unittest.main()
