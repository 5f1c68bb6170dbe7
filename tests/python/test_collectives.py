# SPDX-License-Identifier: MIT
"""Every collective on ranks that are threads, against NumPy; integers and small numbers, so all sums are exact."""

import unittest

import choir
import numpy as np
from ranks import run_ranks

N = 3


def given(rank, count, dtype="float32"):
    return ((np.arange(count) * 7 + rank * 13) % 50).astype(dtype)


def everybody(count, dtype="float32"):
    return np.stack([given(rank, count, dtype) for rank in range(N)])


class Dense(unittest.TestCase):
    def ranks(self, fn, **settings):
        run_ranks(N, fn, **settings)

    def test_allreduce(self):
        def fn(comm):
            for count in (0, 1, 1000, 100000):
                for op, expected in (("sum", np.sum), ("max", np.max), ("min", np.min)):
                    x, y = given(comm.rank, count), np.zeros(count, np.float32)
                    self.assertIsNone(comm.allreduce(x, y, op))
                    np.testing.assert_array_equal(x, given(comm.rank, count))
                    comm.allreduce(x, op=choir.Op[op.upper()])
                    np.testing.assert_array_equal(x, y)
                    np.testing.assert_array_equal(y, expected(everybody(count), axis=0) if count else y)
            x = given(comm.rank, 10)
            comm.allreduce(x, op="premul_sum", factor=float(comm.rank))
            np.testing.assert_array_equal(x, sum(rank * given(rank, 10) for rank in range(N)))

        self.ranks(fn)

    def test_operators(self):
        def fn(comm):
            pick = lambda a, b: np.where(b != 0, b, a)  # noqa: E731
            with choir.Operator("latest", pick, commutative=False) as latest:
                x = np.where((np.arange(1000) + comm.rank) % 3 == 0, 0, comm.rank + 1).astype("int32")
                comm.allreduce(x, op=latest)
                last = np.zeros(1000, np.int32)
                for rank in range(N):
                    last = pick(last, np.where((np.arange(1000) + rank) % 3 == 0, 0, rank + 1))
                np.testing.assert_array_equal(x, last)
            with self.assertRaises(choir.ArgumentError):
                comm.allreduce(x, op=latest)
            norm = choir.Operator("norm", np.add, raw=np.square, final=lambda a, ranks: np.sqrt(a) + ranks)
            y = np.full(10, comm.rank + 1, np.float16)
            comm.allreduce(y, op=norm)
            np.testing.assert_array_equal(y, np.float16(np.sqrt(np.float32(14)) + N))

        self.ranks(fn)
        with self.assertRaises(choir.ArgumentError):
            choir.Operator("nothing", None)

    def test_operator_of_pairs(self):
        def nearest(a, b):
            return np.where(np.abs(b["value"]) < np.abs(a["value"]), b, a)

        def fn(comm):
            pairs = np.zeros(100, np.dtype([("value", np.float64), ("index", np.int32)], align=True))
            pairs["value"], pairs["index"] = np.arange(100) % 3 - comm.rank, comm.rank
            with choir.Operator("nearest", nearest) as op:
                comm.allreduce(pairs, op=op)
            np.testing.assert_array_equal(pairs["value"], 0)
            np.testing.assert_array_equal(pairs["index"], np.arange(100) % 3)

        self.ranks(fn)

    def test_lists(self):
        def fn(comm):
            xs = [given(comm.rank, n, t) for n, t in ((5, "int32"), (0, "int8"), (3000, "float64"), (7, "float16"))]
            y = np.zeros(5, np.int32)
            comm.allreduce_multi([(xs[0], y), *xs[1:]])
            np.testing.assert_array_equal(y, everybody(5, "int32").sum(0))
            np.testing.assert_array_equal(xs[2], everybody(3000, "float64").sum(0))
            np.testing.assert_array_equal(xs[3], everybody(7, "float16").sum(0))

        self.ranks(fn)

    def test_other_lists(self):
        def fn(comm):
            r, types = comm.rank, ("int32", "float64", "int32")
            sends = [given(r, N * n, t) for n, t in zip((2, 5, 300), types)]
            parts = [np.zeros(n, t) for n, t in zip((2, 5, 300), types)]
            comm.reduce_scatter_multi(list(zip(sends, parts)))
            wholes = [np.zeros_like(x) for x in sends]
            with comm.allgather_multi_init(list(zip(parts, wholes))) as gather:
                gather.start()
            for whole, t in zip(wholes, types):
                np.testing.assert_array_equal(whole, everybody(whole.size, t).sum(0))
            comm.reduce_multi(sends, root=1)
            comm.broadcast_multi(sends, root=1)
            for sent, whole in zip(sends, wholes):
                np.testing.assert_array_equal(sent, whole)

        self.ranks(fn)

    def test_predict(self):
        def fn(comm):
            seconds, algorithm = comm.predict("allreduce", 1000, "float64", options="algorithm=ring")
            self.assertGreater(seconds, 0)
            self.assertEqual(algorithm, "ring")

        self.ranks(fn)

    def test_kept_exchange(self):
        def fn(comm):
            r, out = comm.rank, np.zeros(N * 2, np.int32)
            x = given(r, N * 2, "int32")
            with comm.alltoallv_init(x, [2] * N, out, [2] * N) as exchange:
                for turn in range(1, 4):
                    x += 1
                    exchange.start()
                    np.testing.assert_array_equal(out[:2], given(0, N * 2, "int32")[r * 2 : r * 2 + 2] + turn)

        self.ranks(fn)

    def test_padded(self):
        def fn(comm):
            for count in (0, 1, 7, 1001):
                block = -(-count // N)
                x, part, back = given(comm.rank, count, "int32"), np.ones(block, np.int32), np.zeros(count, np.int32)
                whole = np.zeros(block * N, np.int32)
                whole[:count] = everybody(count, "int32").sum(0)
                comm.reduce_scatter_padded(x, part)
                np.testing.assert_array_equal(part, whole[comm.rank * block : (comm.rank + 1) * block])
                comm.allgather_padded_multi([(part, back)])
                np.testing.assert_array_equal(back, whole[:count])

        self.ranks(fn)

    def test_tags(self):
        def fn(comm):
            left, right = (comm.rank - 1) % N, (comm.rank + 1) % N
            outs = [given(comm.rank, 5, "int32") + tag for tag in range(3)]
            events = [comm.send(outs[tag], left, tag=tag, wait=False) for tag in range(3)]
            for tag in (2, 0, 1):
                x = np.zeros(5, np.int32)
                comm.recv(x, right, tag=tag)
                np.testing.assert_array_equal(x, given(right, 5, "int32") + tag)
            for event in events:
                event.wait()

        self.ranks(fn)

    def test_blocks(self):
        def fn(comm):
            r, whole = comm.rank, everybody(N * 4, "int64")
            part, all_parts = np.zeros(4, np.int64), np.zeros(N * 4, np.int64)
            comm.reduce_scatter(given(r, N * 4, "int64"), part)
            np.testing.assert_array_equal(part, whole.sum(0)[r * 4 : r * 4 + 4])
            comm.allgather(part, all_parts)
            np.testing.assert_array_equal(all_parts, whole.sum(0))
            comm.alltoall(given(r, N * 4, "int64"), all_parts)
            np.testing.assert_array_equal(all_parts, whole[:, r * 4 : r * 4 + 4].ravel())

        self.ranks(fn)

    def test_vectors(self):
        def fn(comm):
            r, counts = comm.rank, [3, 0, 5]
            whole, ends = everybody(8, "int32"), np.cumsum([0, *counts])
            part = np.zeros(counts[r], np.int32)
            comm.reduce_scatterv(given(r, 8, "int32"), part, counts)
            np.testing.assert_array_equal(part, whole.sum(0)[ends[r] : ends[r + 1]])
            out = np.zeros(12, np.int32)
            comm.allgatherv(part, out, counts, [6, 0, 0])
            np.testing.assert_array_equal(out[[6, 7, 8, 0, 1, 2, 3, 4]], whole.sum(0))
            sends = [r + p for p in range(N)]
            out = np.full(sum(sends), -1, np.int32)
            comm.alltoallv(given(r, 12, "int32"), sends, out, sends)
            expected = [given(p, 12, "int32")[sum(p + q for q in range(r)) :][: p + r] for p in range(N)]
            np.testing.assert_array_equal(out, np.concatenate(expected))

        self.ranks(fn)

    def test_roots(self):
        def fn(comm):
            for root in range(N):
                x, y = given(comm.rank, 100), np.zeros(100, np.float32)
                comm.reduce(x, y, root=root)
                np.testing.assert_array_equal(y, everybody(100).sum(0) if comm.rank == root else 0)
                comm.broadcast(x, root=root)
                np.testing.assert_array_equal(x, given(root, 100))
            comm.barrier()

        self.ranks(fn)

    def test_gather_and_scatter(self):
        def fn(comm):
            r, counts = comm.rank, [3, 0, 5]
            for root in range(N):
                out = np.zeros((N, 40), np.float32)
                comm.gather(given(r, 40), out if r == root else None, root=root)
                np.testing.assert_array_equal(out, everybody(40) if r == root else 0)
                part = np.zeros(40, np.float32)
                comm.scatter(out if r == root else None, part, root=root)
                np.testing.assert_array_equal(part, given(r, 40))
                comm.scatter(out, root=root) if r == root else comm.scatter(None, part, root=root)
                comm.gather(None, out, root=root) if r == root else comm.gather(part, root=root)
                np.testing.assert_array_equal(out, everybody(40) if r == root else 0)
                flat = np.zeros(9, np.float32)
                comm.gatherv(given(r, counts[r]), flat, counts, [6, 0, 0], root=root)
                if r == root:
                    np.testing.assert_array_equal(flat, [*given(2, 5), 0, *given(0, 3)])
                part = np.zeros(counts[r], np.float32)
                comm.scatterv(flat, part, counts, [6, 0, 0], root=root)
                np.testing.assert_array_equal(part, given(r, counts[r]))
            if r == 0:
                with self.assertRaisesRegex(choir.ArgumentError, "recv has 40 elements"):
                    comm.gather(given(r, 40), given(r, 40), root=0)
                with self.assertRaisesRegex(choir.ArgumentError, "recv has 10 elements.* 3 equal blocks"):
                    comm.gather(None, given(r, 10), root=0, wait=False)
                with self.assertRaisesRegex(choir.ArgumentError, "send has 10 elements.* 3 equal blocks"):
                    comm.scatter(given(r, 10), root=0, wait=False)
                read_only = given(r, 9)
                read_only.flags.writeable = False
                with self.assertRaisesRegex(choir.ArgumentError, "cannot be written"):
                    comm.gather(None, read_only, root=0, wait=False)

        self.ranks(fn)

    def test_scan(self):
        def fn(comm):
            y = np.full(100, -1, np.float32)
            comm.scan(given(comm.rank, 100), y)
            np.testing.assert_array_equal(y, everybody(100)[: comm.rank + 1].sum(0))
            y = np.full(100, -1, np.float32)
            comm.exscan(given(comm.rank, 100), y)
            np.testing.assert_array_equal(y, everybody(100)[: comm.rank].sum(0) if comm.rank else -1)

        self.ranks(fn)

    def test_pairs(self):
        def fn(comm):
            right, left = (comm.rank + 1) % N, (comm.rank - 1) % N
            out = np.zeros(50, np.float32)
            comm.sendrecv(given(comm.rank, 50), right, out, left)
            np.testing.assert_array_equal(out, given(left, 50))
            with choir.group():
                comm.send(given(comm.rank, 50), left)
                comm.recv(out, right)
            np.testing.assert_array_equal(out, given(right, 50))

        self.ranks(fn)

    def test_persistent(self):
        def fn(comm):
            x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
            lists = [np.zeros(3, np.int32), np.zeros(2, np.float64)]
            with comm.allreduce_init(x, y) as one, comm.allreduce_multi_init(lists) as many, comm.barrier_init() as bar:
                for turn in range(5):
                    x[:] = turn + comm.rank
                    one.start()
                    np.testing.assert_array_equal(y, N * turn + 3)
                    lists[0][:] = turn
                    event = many.start(wait=False)
                    event.wait()
                    np.testing.assert_array_equal(lists[0], N * turn)
                    bar.start()
            half, whole = np.ones(2, np.float32), np.zeros(2 * N, np.float32)
            for request in (
                comm.allgather_init(half, whole), comm.alltoall_init(whole, np.zeros_like(whole)),
                comm.reduce_scatter_init(whole, half), comm.broadcast_init(half, root=1), comm.reduce_init(half),
            ):  # fmt: skip
                request.start()
                request.close()
            np.testing.assert_array_equal(whole, 1)

        self.ranks(fn)

    def test_symmetric(self):
        def fn(comm):
            x = np.frombuffer(comm.alloc(4000), np.float32)
            np.testing.assert_array_equal(x, 0)
            x[:] = comm.rank
            comm.allreduce(x)
            np.testing.assert_array_equal(x, 3)

        self.ranks(fn)

    def test_split(self):
        def fn(comm):
            child = comm.split(0 if comm.rank != 1 else -1, -comm.rank)
            if comm.rank == 1:
                self.assertIsNone(child)
            else:
                with child:
                    x = np.ones(3, np.int32)
                    child.allreduce(x)
                    self.assertEqual((child.size, child.rank, x[0]), (2, 1 if comm.rank == 0 else 0, 2))

        self.ranks(fn)

    def test_description(self):
        def fn(comm):
            self.assertEqual((comm.nodes, comm.node_of(2), comm.node_of(9)), (3, 2, -1))
            self.assertEqual(comm.describe()["ranks"], N)
            comm.warm("float32", "sum")
            comm.check()

        self.ranks(fn, ranks_per_node=1, name="test", rules="allreduce: ring")


class ReadOnly(unittest.TestCase):
    """An array may be read-only wherever it is only read: refused on one rank, the others would wait."""

    def test_rooted_calls(self):
        def constant(value):
            x = np.full(4, value, np.float32)
            x.flags.writeable = False
            return x

        def fn(comm):
            root, mine, x = comm.rank == 1, constant(comm.rank), np.zeros(4, np.float32)
            comm.reduce(mine, x, root=1)
            np.testing.assert_array_equal(x, 3 if root else 0)
            comm.reduce_multi([(mine, x)] if root else [mine], root=1)
            np.testing.assert_array_equal(x, 3 if root else 0)
            comm.broadcast(mine if root else x, root=1)
            np.testing.assert_array_equal(x, 3 if root else 1)
            comm.broadcast_multi([constant(7) if root else x], root=1)
            np.testing.assert_array_equal(x, 3 if root else 7)
            if root:
                for call in (lambda: comm.reduce(mine, root=1), lambda: comm.broadcast(x, mine, root=1)):
                    with self.assertRaisesRegex(choir.ArgumentError, "cannot be written"):
                        call()

        run_ranks(3, fn)


class Failures(unittest.TestCase):
    def test_mismatch(self):
        raised = []

        def fn(comm):
            with self.assertRaises(choir.MismatchError) as caught:
                comm.allreduce(np.zeros(4 + comm.rank, np.float32))
            raised.append(str(caught.exception))
            with self.assertRaises(choir.MismatchError):
                comm.check()

        run_ranks(2, fn)
        self.assertEqual(len(raised), 2)
        for text in raised:
            self.assertRegex(text, "4 .*5|5 .*4")

    def test_deadline(self):
        def fn(comm):
            if comm.rank == 0:
                with self.assertRaisesRegex(choir.DeadlineError, "rank 1") as caught:
                    comm.allreduce(np.zeros(4), deadline=0.2, name="gradients")
                self.assertIsInstance(caught.exception, TimeoutError)
                self.assertIn("gradients", str(caught.exception))

        run_ranks(2, fn)

    def test_exception_aborts(self):
        """A rank whose block raises leaves nobody waiting."""

        def fn(comm):
            if comm.rank == 1:
                with self.assertRaises(KeyError):
                    with comm:
                        raise KeyError("x")
            else:
                with self.assertRaises(choir.AbortedError):
                    comm.allreduce(np.zeros(4))

        run_ranks(2, fn)

    def test_one_thread(self):
        with choir.threads(2, deadline=30) as comms:
            xs = [np.ones(4), np.ones(4)]
            with choir.group():
                for comm, x in zip(comms, xs):
                    comm.allreduce(x)
            self.assertEqual(xs[1][3], 2)
            with self.assertRaises(choir.WouldDeadlockError):
                comms[0].allreduce(xs[0])


if __name__ == "__main__":
    unittest.main()
