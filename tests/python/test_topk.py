# SPDX-License-Identifier: MIT
"""Pairs and top-k gradients against NumPy; values are small integers, so all sums are exact."""

import array
import unittest

import choir
import numpy as np
from choir import pairs
from ranks import run_ranks

N = 3


def given(rank, count, dtype="float32"):
    """Different magnitudes, of both signs."""
    random = np.random.default_rng(rank)
    return (random.permutation(count) * random.choice([-1, 1], count)).astype(dtype)


def largest(values, k):
    """Indices of the k largest magnitudes, ascending; of equal ones the lowest."""
    return np.sort(np.argsort(-np.abs(values), kind="stable")[:k])


class Pairs(unittest.TestCase):
    def test_select(self):
        for dtype in ("float32", "float64", "float16"):
            x = given(1, 1000, dtype)
            for k in (0, 1, 37, 1000):
                indices, values = pairs.select_top(x, k)
                np.testing.assert_array_equal(indices, largest(x, k))
                np.testing.assert_array_equal(values, x[largest(x, k)])
            indices, values = pairs.select_above(x, 900, index="int32")
            np.testing.assert_array_equal(indices, np.flatnonzero(np.abs(x) >= 900))
            np.testing.assert_array_equal(values, x[indices])
            self.assertEqual(indices.dtype, np.int32)

    def test_room(self):
        x = given(1, 100)
        self.assertEqual(len(pairs.select_above(x, 90, room=10)[0]), 10)
        with self.assertRaises(choir.CapacityError):
            pairs.select_above(x, 90, room=9)

    def test_rows(self):
        table = given(2, 60).reshape(20, 3)
        indices = np.array([5, 0, 19, 5], np.int32)
        np.testing.assert_array_equal(pairs.gather_rows(indices, table), table[indices])
        for flat in table.ravel(), array.array("f", table.ravel()):
            np.testing.assert_array_equal(pairs.gather_rows(indices, flat, rows=20), table[indices])
        target = table.copy()
        rows = np.full((3, 3), 7, np.float32)
        self.assertIs(pairs.scatter_rows(indices[:3], rows, target), target)
        expected = table.copy()
        expected[indices[:3]] = 7
        np.testing.assert_array_equal(target, expected)
        with self.assertRaisesRegex(choir.ArgumentError, "20"):
            pairs.gather_rows(np.array([20]), table)

    def test_sets(self):
        a, b = np.array([3, 9, 9, 1, 70]), np.array([70, 9, 2])
        np.testing.assert_array_equal(pairs.intersect(a, b), np.isin(a, b))
        rows = given(3, 10).reshape(5, 2)
        indices, summed = pairs.coalesce_rows(a, rows)
        np.testing.assert_array_equal(indices, [1, 3, 9, 70])
        np.testing.assert_array_equal(summed, [rows[3], rows[0], rows[1] + rows[2], rows[4]])
        np.testing.assert_array_equal(pairs.coalesce_rows(a, rows, "max")[1][2], np.maximum(rows[1], rows[2]))
        indices, flat = pairs.coalesce_rows(a, rows.ravel())  # a width, and no shape that says so
        np.testing.assert_array_equal(flat, summed.ravel())

    def test_events(self):
        x = given(1, 1000)
        event = pairs.select_top(x, 10, wait=False)
        indices, values = event.wait()
        np.testing.assert_array_equal(pairs.gather_rows(indices, x, after=event), values)
        self.assertIs(event.wait()[0], indices)

    def test_refused(self):
        x = given(1, 10)
        for call, words in (
            (lambda: pairs.select_top(x, 11), "k is 11, the array has 10"),
            (lambda: pairs.select_top(x, 3, out=(np.zeros(3, np.int16), x[:3].copy())), "I32 or I64"),
            (lambda: pairs.select_top(x, 3, out=(np.zeros(3, int), np.zeros(3))), "F32 and F64"),
            (lambda: pairs.select_top(x, 3, out=(np.zeros(2, int), x[:3].copy())), "needs 3"),
            (lambda: pairs.gather_rows(np.array([0]), x, rows=3), "not 3 rows"),
            (lambda: pairs.intersect(np.array([0]), np.array([0], np.int32)), "I64 and I32"),
            (lambda: pairs.intersect(np.array([0]), np.array([0]), out=np.zeros(1, np.int32)), "4 bytes an element"),
            (lambda: pairs.coalesce_rows(np.array([0, 1, 2]), x), "not 3 rows"),
        ):
            with self.assertRaisesRegex(choir.ArgumentError, words):
                call()


class TopK(unittest.TestCase):
    def test_result(self):
        """topka: the sum of what the ranks selected, and the rest in the residual."""

        def fn(comm):
            k, count = 40, 1000
            sent = np.zeros((N, count), np.float32)
            for rank in range(N):
                chosen = largest(given(rank, count), k)
                sent[rank, chosen] = given(rank, count)[chosen]
            mine = given(comm.rank, count)
            with choir.TopK(comm, count, algorithm="topka", k=k, op="sum") as state:
                dense, ind, val = np.empty(count, np.float32), np.empty(N * k, np.int32), np.empty(N * k, np.float32)
                bits = np.zeros((count + 31) // 32, np.uint32)
                indices, values = state.allreduce(mine, dense, (ind, val), bits)
                np.testing.assert_array_equal(dense, sent.sum(0))
                np.testing.assert_array_equal(indices, np.flatnonzero(sent.any(0)))
                np.testing.assert_array_equal(values, dense[indices])
                np.testing.assert_array_equal(state.residual(), mine - sent[comm.rank])
                used = np.unpackbits(bits.view(np.uint8), bitorder="little")[:count]
                np.testing.assert_array_equal(np.flatnonzero(used), np.flatnonzero(sent[comm.rank]))

        run_ranks(N, fn)

    def test_unreduced(self):
        """Each rank's pairs, one rank's behind the other's; their sum is the result."""

        def fn(comm):
            k, count = 40, 1000
            dense, ind, val = np.empty(count, np.float32), np.empty(N * k, np.int32), np.empty(N * k, np.float32)
            counts = np.zeros(N, np.uint64)
            with choir.TopK(comm, count, algorithm="topka", k=k, op="sum") as state:
                indices, values = state.allreduce(given(comm.rank, count), dense, (ind, val), rank_pairs=counts)
            np.testing.assert_array_equal(counts, N * [k])
            for rank in range(N):
                x = given(rank, count)
                np.testing.assert_array_equal(indices[rank * k : (rank + 1) * k], largest(x, k))
                np.testing.assert_array_equal(values[rank * k : (rank + 1) * k], x[largest(x, k)])
            np.testing.assert_array_equal(np.bincount(indices, values, count), dense)

        run_ranks(N, fn)

    def test_lists(self):
        """A list of arrays as one tensor, also persistent: as the whole."""

        def fn(comm):
            count, cuts = 1000, [300, 300, 990]
            whole, parts, kept = (choir.TopK(comm, count, k=50, op="sum") for _ in range(3))
            held = np.empty(count, np.float32)
            with kept.allreduce_multi_init(np.split(held, cuts)) as request:
                for turn in range(3):
                    x = given(10 * turn + comm.rank, count)
                    y, held[:] = x.copy(), x
                    whole.allreduce(x)
                    self.assertIsNone(parts.allreduce_multi(np.split(y, cuts)))
                    request.start()
                    np.testing.assert_array_equal(x, y)
                    np.testing.assert_array_equal(x, held)
            with whole.allreduce_init(x, y) as request:
                request.start()
            parts.allreduce(x)
            np.testing.assert_array_equal(x, y)
            for state in (whole, parts, kept):
                state.close()

        run_ranks(N, fn)

    def test_law(self):
        """What went in comes out, or is in a residual; a state that was restored goes on alike."""

        def fn(comm):
            for settings in (
                {}, {"algorithm": "gtopk"}, {"algorithm": "spardl"}, {"algorithm": "dense"}, {"threshold": "sampled"},
                {"wire_dtype": choir.DType.BF16},
            ):  # fmt: skip
                count = 500
                states = [choir.TopK(comm, count, density=0.1, op="sum", **settings) for _ in range(2)]
                out = np.zeros(count, np.float32)
                for turn in range(4):
                    x = given(10 * turn + comm.rank, count)
                    event = states[0].allreduce(x, wait=False)  # in place
                    event.wait()
                    stats = event.stats()
                    self.assertEqual(stats["call"], turn)
                    out += x
                    if turn == 1:
                        states[1].from_bytes(states[0].to_bytes())
                    if turn > 1:
                        y = given(10 * turn + comm.rank, count)
                        states[1].allreduce(y)
                        np.testing.assert_array_equal(x, y)
                held = states[0].residual()
                comm.allreduce(held)
                whole = sum(given(10 * turn + rank, count) for turn in range(4) for rank in range(N))
                np.testing.assert_array_equal(out + held, whole)
                states[0].reset()
                self.assertFalse(states[0].residual().any())
                for state in states:
                    state.close()

        run_ranks(N, fn)

    def test_refused(self):
        def fn(comm):
            for settings, words in (
                ({"algorithm": "best"}, "best"), ({"dtype": "int32"}, "I32|i32"),
                ({"k": -1}, "is -[14], it must be an integer from 0"),
                ({"density": 2.0}, "density"), ({"k": 11}, "k "), ({"threshold": "best"}, "none of auto, exact"),
            ):  # fmt: skip
                with self.assertRaisesRegex(choir.ChoirError, words):
                    choir.TopK(comm, 10, **settings)
            with choir.TopK(comm, 10) as state:
                with self.assertRaisesRegex(choir.ArgumentError, "9 of F32, the state's 10 of F32"):
                    state.allreduce(np.zeros(9, np.float32))
                with self.assertRaisesRegex(choir.ArgumentError, "involved is I32, not U32"):
                    state.allreduce(np.zeros(10, np.float32), involved=np.zeros(1, np.int32))
                with self.assertRaises(choir.ArgumentError):
                    state.from_bytes(b"nothing")

        run_ranks(1, fn)


if __name__ == "__main__":
    unittest.main()
