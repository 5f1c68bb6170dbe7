# SPDX-License-Identifier: MIT
"""Every function of the headers has its place in the package; persistent calls, sequences, groups, keys and chunks
on ranks that are threads, against NumPy."""

import inspect
import mmap
import re
import tempfile
import unittest
from pathlib import Path

import choir
import numpy as np
from choir import _abi, _family
from choir._event import sweep
from ranks import run_ranks

N = 3


def given(rank, count, dtype="int32"):
    return ((np.arange(count) * 7 + rank * 13) % 50).astype(dtype)


def everybody(count, dtype="int32"):
    return np.stack([given(rank, count, dtype) for rank in range(N)])


class Table(unittest.TestCase):
    def test_every_function_is_called(self):
        folder = Path(choir.__file__).parent
        text = "".join(one.read_text() for one in folder.glob("*.py") if one.name != "_abi.py")
        called = set(re.findall(r"\b(?:lib|library|_lib|mpi\(\))\.(choir_\w+)", text))
        kept = {f"choir_{name[:-5]}_init" for name in vars(choir.Comm) | vars(choir.Comm.__mro__[2])
                if name.endswith("_init") and not name.startswith("_")}  # fmt: skip
        others = {"choir_comm_split", "choir_set_log"}  # split_config does the same; CHOIR_LOG
        self.assertEqual(set(_abi.PROTOTYPES) - called - kept, others)

    def test_every_argument_has_a_type(self):
        public = [getattr(choir, name) for name in choir.__all__]
        public += [getattr(module, name) for module in (choir.chunks, choir.pairs) for name in vars(module)]
        kinds = {one for one in public if inspect.isclass(one) and one.__module__.startswith("choir")}
        calls = [one for one in public if inspect.isfunction(one)]
        calls += [one for kind in kinds for one in vars(kind).values() if inspect.isfunction(one)]
        calls += [one for kind in choir.Comm.__mro__ for one in vars(kind).values() if inspect.isfunction(one)]
        self.assertGreater(len(calls), 150)
        for call in calls:
            if call.__module__.startswith("choir") and not call.__name__.startswith("_"):
                untyped = set(inspect.signature(call).parameters) - set(call.__annotations__) - {"self"}
                self.assertEqual(untyped, set(), call.__qualname__)
                self.assertIn("return", call.__annotations__, call.__qualname__)

    def test_a_list_of_comms_has_a_type(self):
        self.assertEqual(choir.Threads.__orig_bases__, (list[choir.Comm],))

    def test_every_method_is_described(self):
        for kind in (choir.Comm, choir.Request, choir.Sequence, choir.TopK, choir.chunks.Chunks):
            for name in dir(kind):
                if not name.startswith("_") and callable(getattr(kind, name)):
                    self.assertTrue(getattr(kind, name).__doc__, f"{kind.__name__}.{name}")


class Persistent(unittest.TestCase):
    def kept(self, comm, name, args, out, expected):
        """A request, started twice; out is what it fills, from which all is taken before."""
        with getattr(comm, name + "_init")(*args) as request:
            for wait in (True, False):
                if out is not None:
                    out[...] = -1
                event = request.start(wait=wait)
                if not wait:
                    event.wait()
                if out is not None and expected is not None:
                    np.testing.assert_array_equal(out, expected, name)

    def test_every_collective(self):
        def fn(comm):
            r, n, whole, counts = comm.rank, 12, everybody(12), [3, 0, 5]
            mine, out, part = given(r, n), np.zeros(n, np.int32), np.zeros(4, np.int32)
            total, ends = whole.sum(0), np.cumsum([0, *counts])
            blocks = np.concatenate([given(rank, 4) for rank in range(N)])
            uneven = np.zeros(counts[r], np.int32)
            self.kept(comm, "allreduce", (mine, out), out, total)
            self.kept(comm, "reduce", (mine, out, "sum", 1), out, total if r == 1 else None)
            self.kept(comm, "reduce_scatter", (mine, part), part, total[r * 4 : r * 4 + 4])
            self.kept(comm, "reduce_scatterv", (mine, uneven, counts), uneven, total[ends[r] : ends[r + 1]])
            self.kept(comm, "reduce_scatter_padded", (mine[:11], part), part, [*total[:11], 0][r * 4 : r * 4 + 4])
            self.kept(comm, "scan", (mine, out), out, whole[: r + 1].sum(0))
            self.kept(comm, "exscan", (mine, out), out, whole[:r].sum(0) if r else -1)
            self.kept(comm, "allgather", (given(r, 4), out), out, blocks)
            self.kept(comm, "allgatherv", (mine[: counts[r]], out[:8], counts), out[:8],
                      [*given(0, 3), *given(2, 5)])  # fmt: skip
            self.kept(comm, "allgather_padded", (given(r, 4), out[:11]), out[:11], blocks[:11])
            self.kept(comm, "alltoall", (mine, out), out, whole[:, r * 4 : r * 4 + 4].ravel())
            self.kept(comm, "alltoallv", (mine, [4] * N, out, [4] * N), out, whole[:, r * 4 : r * 4 + 4].ravel())
            self.kept(comm, "broadcast", (mine, out, 2), out, given(2, n))
            self.kept(comm, "gather", (given(r, 4), out if r == 1 else None, 1), out, blocks if r == 1 else -1)
            self.kept(comm, "gatherv", (mine[: counts[r]], out[:8], counts, None, 1), out[:8],
                      [*given(0, 3), *given(2, 5)] if r == 1 else -1)  # fmt: skip
            self.kept(comm, "scatter", (mine if r == 1 else None, part, 1), part, given(1, n)[r * 4 : r * 4 + 4])
            self.kept(comm, "scatterv", (mine, uneven, counts, None, 1), uneven, given(1, n)[ends[r] : ends[r + 1]])
            self.kept(comm, "sendrecv", (mine, (r + 1) % N, out, (r - 1) % N), out, given((r - 1) % N, n))
            self.kept(comm, "barrier", (), None, None)
            if r == 0:
                self.kept(comm, "send", (mine, 1), None, None)
            elif r == 1:
                self.kept(comm, "recv", (out, 0), out, given(0, n))

        run_ranks(N, fn)

    def test_every_list(self):
        def fn(comm):
            r, whole = comm.rank, everybody(6)
            mine, out, part = given(r, 6), np.zeros(6, np.int32), np.zeros(2, np.int32)
            total, blocks = whole.sum(0), np.concatenate([given(rank, 2) for rank in range(N)])
            self.kept(comm, "allreduce_multi", ([(mine, out)],), out, total)
            self.kept(comm, "reduce_multi", ([(mine, out)], "sum", 2), out, total if r == 2 else None)
            self.kept(comm, "broadcast_multi", ([(mine, out)], 1), out, given(1, 6))
            self.kept(comm, "reduce_scatter_multi", ([(mine, part)],), part, total[r * 2 : r * 2 + 2])
            self.kept(comm, "allgather_multi", ([(given(r, 2), out)],), out, blocks)
            self.kept(comm, "reduce_scatter_padded_multi", ([(mine[:5], part)],), part,
                      [*total[:5], 0][r * 2 : r * 2 + 2])  # fmt: skip
            self.kept(comm, "allgather_padded_multi", ([(given(r, 2), out[:5])],), out[:5], blocks[:5])

        run_ranks(N, fn)

    def test_sparse(self):
        def fn(comm):
            indices, values = np.array([comm.rank, 7, 7]), np.ones((3, 2), np.float32)
            to, rows = np.zeros(9, np.int64), np.zeros((9, 2), np.float32)
            with comm.sparse_allreduce_init(indices, values, to, rows) as request:
                for turn in range(1, 4):
                    values[:] = turn
                    came = request.start(wait=turn != 2)
                    self.assertEqual(came.wait() if turn == 2 else came, (4, 8))
                    np.testing.assert_array_equal(to[:4], [0, 1, 2, 7])
                    np.testing.assert_array_equal(rows[:4, 1], [turn, turn, turn, 6 * turn])
            with comm.sparse_allreduce_init(indices, values, to, rows) as request:
                first = request.start(wait=False)
                while not first.done():
                    pass
                indices[:] = 7  # on all ranks
                comm.barrier()
                self.assertEqual(request.start(), (1, 2))
                self.assertEqual(first.wait(), (4, 8))
                indices[:] = [comm.rank, 7, 7]
            comm.barrier()
            with comm.sparse_allreduce_init(indices, values, to[:2], rows[:2]) as request:
                with self.assertRaisesRegex(choir.CapacityError, "4"):
                    request.start()
            comm.barrier()

        run_ranks(N, fn)

    def test_sparse_in_a_group(self):
        """The counts of a start are known after the group alone, whose end waits for it."""
        with choir.threads(2, deadline=30) as comms:
            to, rows = [np.zeros(9, np.int64) for _ in comms], [np.zeros(9, np.float32) for _ in comms]
            requests = [
                comm.sparse_allreduce_init(np.array([comm.rank, 7]), np.ones(2, np.float32), to[r], rows[r])
                for r, comm in enumerate(comms)
            ]
            with choir.group():
                events = [request.start() for request in requests]
            for r, event in enumerate(events):
                self.assertTrue(event.done())
                self.assertEqual(event.wait(), (3, 3))
                np.testing.assert_array_equal(to[r][:3], [0, 1, 7])
                np.testing.assert_array_equal(rows[r][:3], [1, 1, 2])
            for r, comm in enumerate(comms):  # that are too short
                requests[r].close()
                requests[r] = comm.sparse_allreduce_init(np.array([r, 7]), np.ones(2, np.float32), to[r][:2], rows[r])
            with self.assertRaisesRegex(choir.CapacityError, "3"):
                with choir.group():
                    events = [request.start() for request in requests]
            self.assertTrue(all(event.done() for event in events))
            for request in requests:
                request.close()

    def test_results_in_a_group(self):
        """Calls that return what they made return their event there, and the group's end waits for it."""
        with choir.threads(2, deadline=30) as comms:
            states = [choir.TopK(comm, 4, k=1) for comm in comms]
            grads = [np.float32([1, 2, 3, 4]) for _ in comms]
            with choir.group():
                sparse = [comm.sparse_allreduce(np.array([comm.rank, 7]), np.ones(2, np.float32)) for comm in comms]
                top = [one.allreduce(grad) for one, grad in zip(states, grads)]
                pairs = choir.pairs.select_top(np.float32([1, 5, 3]), 1)
            for event in [*sparse, *top, pairs]:
                self.assertTrue(event.done())
            for event in sparse:
                np.testing.assert_array_equal(event.wait()[0], [0, 1, 7])
            np.testing.assert_array_equal(pairs.wait()[0], [1])
            np.testing.assert_array_equal(grads, [[0, 0, 0, 4], [0, 0, 0, 4]])

    def test_a_group_that_raises(self):
        """Its calls are dropped, as if they had never been made, and the comms go on."""
        with choir.threads(2, deadline=30) as comms:
            x = [np.full(4, comm.rank + 1) for comm in comms]
            with self.assertRaises(KeyError):
                with choir.group():
                    comms[0].allreduce(x[0])
                    with choir.group():
                        dropped = comms[0].barrier(wait=False)
                    comms[1].allreduce(x[1])
                    raise KeyError
            with self.assertRaisesRegex(choir.AbortedError, "rank 0: choir_barrier: choir_group_cancel dropped"):
                dropped.wait()
            np.testing.assert_array_equal(x, [[1] * 4, [2] * 4])
            with self.assertRaises(KeyError):
                with choir.group():
                    comms[0].allreduce(x[0])
                    raise KeyError
            with choir.group():
                for comm in comms:
                    comm.allreduce(x[comm.rank])
            np.testing.assert_array_equal(x, [[3] * 4, [3] * 4])

    def test_sequences(self):
        def fn(comm):
            x, part, whole = np.zeros(6, np.int32), np.zeros(2, np.int32), np.zeros(6, np.int32)
            first, second = comm.reduce_scatter_init(x, part), comm.allgather_init(part, whole)
            with choir.Sequence([first, second]) as both:
                for turn in range(4):
                    x[:] = np.arange(6) + turn
                    event = both.start(wait=turn % 2 == 0)
                    if event is not None:
                        event.wait()
                    np.testing.assert_array_equal(whole, N * (np.arange(6) + turn))
            left = choir.Sequence([first, second])
            second.close()
            for late in (left.start, lambda: choir.Sequence([first, second])):
                with self.assertRaisesRegex(choir.ArgumentError, "request 1 of the sequence is closed"):
                    late()
            left.close()
            first.close()
            with self.assertRaises(choir.ArgumentError):
                choir.Sequence([])

        run_ranks(N, fn)


class Comms(unittest.TestCase):
    def test_groups(self):
        def fn(comm):
            self.assertEqual(choir.group_text("Consecutive, size=2"), "consecutive, size=2, stride=1")
            self.assertEqual(comm.group_place("consecutive, size=2"), (comm.rank // 2, comm.rank % 2, 2, 1))
            with comm.group_split("orthogonal, size=2", name="columns") as column:
                x = np.full(2, comm.rank)
                column.allreduce(x)
                self.assertEqual(x[0], 2 * (comm.rank % 2) + 2)
            with self.assertRaisesRegex(choir.ArgumentError, "3"):
                comm.group_place("consecutive, size=3")
            if comm.rank in (1, 3):
                pair = comm.create_group("odd", [3, 1])
                self.assertIs(comm.find("odd"), pair)
                with pair:
                    self.assertEqual((pair.rank, pair.size), (int(comm.rank == 1), 2))
            else:
                with self.assertRaisesRegex(choir.ArgumentError, f"rank {comm.rank} .*'odd'"):
                    comm.create_group("odd", [3, 1])
            event = comm.create_group_start("even", [2, 0])
            if comm.rank in (0, 2):
                with event.wait() as pair:
                    self.assertIs(comm.find("even"), pair)
            else:
                with self.assertRaisesRegex(choir.ArgumentError, f"rank {comm.rank} .*'even'"):
                    event.wait()
            comm.barrier()

        run_ranks(4, fn)

    def test_splits(self):
        def fn(comm):
            event = comm.split_start(0 if comm.rank != 1 else -1, -comm.rank)
            child = event.wait()
            self.assertIs(event.wait(), child)
            if comm.rank == 1:
                self.assertIsNone(child)
            else:
                with child:
                    self.assertEqual((child.size, child.rank), (2, int(comm.rank == 0)))
            with comm.split(0, options="algorithm=ring", name="rings") as rings:
                event = rings.allreduce(np.ones(3, np.int32), wait=False)
                event.wait()
                self.assertEqual(event.algorithm, "ring")
            comm.flush()
            self.assertEqual([comm.node_rank(rank) for rank in (0, 2, 9)], [0, 2, -1])

        run_ranks(N, fn)

    def test_a_split_that_nobody_waits_for(self):
        """Its comm is not lost: it is closed with those that nobody names."""
        with choir.threads(2, deadline=30) as comms:
            before, events = set(_family.live), [comm.split_start(0) for comm in comms]
            while not all(event.done() for event in events):
                pass
            events.clear()
            sweep()
            made = _family.live - before
            self.assertEqual([one.size for one in made], [2, 2])
            for one in made:
                one.close()

    def test_keys(self):
        def fn(comm):
            xs = [np.full(4, comm.rank + i, np.int32) for i in range(3)]
            order = np.roll(np.arange(3), comm.rank)
            events = [comm.allreduce(xs[i], key=f"tensor {i}", wait=False) for i in order]
            for event in events:
                event.wait()
            for i, x in enumerate(xs):
                np.testing.assert_array_equal(x, 3 + 3 * i)

        run_ranks(N, fn, keyed=True)

    def test_order(self):
        def fn(comm):
            x = np.float32([1e8, 1, -1e8][comm.rank]) * np.ones(1000, np.float32)
            comm.allreduce(x)
            np.testing.assert_array_equal(x, 0)  # 1e8 + 1 is 1e8
            with self.assertRaises(choir.ArgumentError):
                comm.allreduce(x, options="algorithm=ring")

        run_ranks(N, fn, order_ranks=True, ranks_per_node=1)

    def test_supports(self):
        def fn(comm):
            self.assertTrue(comm.supports("allreduce", "int32", "logical_and"))
            self.assertFalse(comm.supports("scan", "float32", "mean"))
            with self.assertRaises(choir.ArgumentError):
                comm.supports("allreduces")

        run_ranks(1, fn)

    def test_memory(self):
        def fn(comm):
            memory = comm.alloc(np.int64(4000))
            x = np.frombuffer(memory, np.float32)
            x[:] = comm.rank
            comm.allreduce(x)
            np.testing.assert_array_equal(x, 3)
            comm.free(memory)
            with self.assertRaises(choir.ChoirError):
                comm.deregister(np.zeros(4))

        run_ranks(N, fn)

    def test_registered(self):
        """A view is registered from its offset on, to its end."""

        def fn(comm):
            with tempfile.TemporaryFile(dir="/dev/shm") as file:
                file.truncate(8192)
                memory = mmap.mmap(file.fileno(), 8192)
                whole = np.frombuffer(memory, np.uint8)
                view = choir.View(whole, np.float32, offset_bytes=4096)
                comm.register(view)
                with self.assertRaises(choir.ChoirError):
                    comm.deregister(whole)
                x = whole[4096:].view(np.float32)
                x[:] = comm.rank
                comm.allreduce(x)
                np.testing.assert_array_equal(x, 3)
                comm.deregister(view)

        run_ranks(N, fn)


class Chunks(unittest.TestCase):
    def test_chunks(self):
        with choir.threads(N, deadline=30) as comms:
            lengths = choir.chunks.Chunks.lengths(10, N)
            self.assertEqual(lengths, [4, 4, 2])
            with self.assertRaisesRegex(choir.ArgumentError, "-1"):
                choir.chunks.Chunks.lengths(10, -1)
            sends = [given(rank, 10) for rank in range(N)]
            parts = choir.chunks.Chunks([np.zeros(n, np.int32) for n in lengths])
            choir.chunks.reduce_scatter(comms, sends, parts)
            whole = np.zeros(10, np.int32)
            choir.chunks.concat(comms, parts, 1, whole)
            np.testing.assert_array_equal(whole, everybody(10).sum(0))
            moved = choir.chunks.Chunks([np.int32([7, 8]), np.zeros(0, np.int32), np.int32([5, 6])],
                                        [(2, 2), (1, 2), (0, 0)])  # fmt: skip
            outs = [np.zeros(4, np.int32) for _ in range(N)]
            choir.chunks.allgather(comms, moved, outs, wait=False).wait()
            np.testing.assert_array_equal(outs, [[5, 6, 7, 8]] * N)
            choir.chunks.allreduce(comms, outs, op="max")
            choir.chunks.allreduce(comms, sends)
            np.testing.assert_array_equal(sends[2], everybody(10).sum(0))
            with self.assertRaisesRegex(choir.ArgumentError, "chunk"):
                chunks = choir.chunks.Chunks(outs, [(0, 0), (0, 4), (2, 8)])
                choir.chunks.concat(comms, chunks, 0, np.zeros(12, np.int32))
            with self.assertRaisesRegex(choir.ArgumentError, "3 are needed"):
                choir.chunks.allreduce(comms, sends[:2])


class TopK(unittest.TestCase):
    def test_own_selection(self):
        def fn(comm):
            gradient = np.arange(1, 9, dtype=np.float32)
            with choir.TopK(comm, 8, algorithm="topka", k=2, op="sum") as state:
                state.allreduce(gradient, indices=np.int32([comm.rank, 7]))
                np.testing.assert_array_equal(gradient, [1, 2, 3, 0, 0, 0, 0, 24])

        run_ranks(N, fn)


if __name__ == "__main__":
    unittest.main()
