# SPDX-License-Identifier: MIT
"""Events: waited for, asked for, called back from, awaited, and chained."""

import asyncio
import gc
import threading
import unittest
import weakref
from unittest import mock

import choir
import numpy as np
from ranks import run_ranks


class Events(unittest.TestCase):
    def setUp(self):
        self.comms = choir.threads(2, deadline=30)
        self.addCleanup(self.comms.__exit__, None)

    def start(self, rank, x, **call):
        return self.comms[rank].allreduce(x, wait=False, **call)

    def test_wait(self):
        x, y = np.ones(1000), np.ones(1000)
        event = self.start(0, x)
        self.assertFalse(event.done())
        with self.assertRaisesRegex(choir.DeadlineError, "goes on"):
            event.wait(0.05)
        with self.assertRaises(choir.RunningError):
            event.exception()
        self.start(1, y).wait()
        self.assertIsNone(event.wait(30))
        self.assertTrue(event.done())
        self.assertIsNone(event.exception())
        self.assertNotEqual(event.algorithm, "")
        self.assertEqual((x[999], event.wire_bytes), (2, 0))

    def test_error(self):
        event = self.start(0, np.ones(4), deadline=0.1, name="late")
        with self.assertRaisesRegex(choir.DeadlineError, "late"):
            event.wait()
        self.assertIsInstance(event.exception(), choir.DeadlineError)

    def test_callbacks(self):
        seen, all_there = [], threading.Event()
        event = self.start(0, np.ones(4))
        for number in range(3):
            event.add_done_callback(lambda one, number=number: seen.append((number, one)))
        event.add_done_callback(lambda one: 1 / 0)  # logged, and the next one is called all the same
        event.add_done_callback(lambda one: all_there.set())
        self.assertEqual(seen, [])
        with self.assertLogs("choir", "ERROR"):
            self.start(1, np.ones(4))
            self.assertTrue(all_there.wait(30))
        self.assertEqual(seen, [(0, event), (1, event), (2, event)])
        event.add_done_callback(lambda one: seen.append("late"))  # of a complete event: at once
        self.assertEqual(seen[3], "late")

    def test_callback_starts_a_collective(self):
        x, later, started = np.ones(4), [], threading.Event()
        first = self.start(0, x)

        def go_on(event):
            with self.assertRaises(choir.WouldDeadlockError):
                self.comms[0].barrier()
            with self.assertRaises(choir.WouldDeadlockError):
                self.comms[0].close()
            later.append(self.start(0, x))
            started.set()

        first.add_done_callback(go_on)
        y = np.ones(4)
        self.start(1, y).wait()
        self.start(1, y).wait()
        self.assertTrue(started.wait(30))
        later[0].wait()
        self.assertEqual((x[0], y[0]), (4, 4))

    def test_a_start_that_is_interrupted(self):
        """Between the library's start of the call and the event's return: the arrays live as long as the call."""
        for owner, name, call in (
            (choir._comm, "choir_allreduce", lambda comm, x: comm.allreduce(x, wait=False)),
            (choir._comm, "choir_sparse_allreduce", lambda comm, x: comm.sparse_allreduce(np.arange(4), x, wait=False)),
        ):
            start, xs = getattr(owner.lib, name), [np.ones(4) for _ in range(2)]

            def interrupted(*args, start=start):
                start(*args)
                raise KeyboardInterrupt

            gone = weakref.ref(xs[0])
            with mock.patch.object(owner.lib, name, interrupted), self.assertRaises(KeyboardInterrupt):
                call(self.comms[0], xs[0])
            del xs[0]
            gc.collect()
            self.assertIsNotNone(gone(), name)
            call(self.comms[1], xs[0]).wait()
            self.comms[0].flush()
            choir._event.sweep()
            self.assertIsNone(gone(), name)

    def test_a_dropped_event_holds_nothing_once_the_comm_is_closed(self):
        for ends_by in (None, KeyError):
            x = np.ones(1000)
            gone = weakref.ref(x)
            with choir.threads(2, deadline=30) as comms:
                comms[0].allreduce(x, wait=False)
                del x
                self.assertIsNotNone(gone())
                comms[1].allreduce(np.ones(1000))
                if ends_by is not None:
                    for comm in comms:
                        comm.__exit__(ends_by)
            self.assertIsNone(gone())

    def test_deps(self):
        x, y = np.ones(4), np.ones(4)
        first = self.start(0, x)
        second = self.start(0, x, after=first)
        third = self.start(0, x, deps=[first, second])
        for _ in range(3):
            self.start(1, y, after=[]).wait()
        third.wait()
        self.assertTrue(first.done() and second.done())
        self.assertEqual((x[0], y[0]), (8, 8))

    def test_a_failed_dep(self):
        with choir.threads(1) as (other,):
            lone = self.start(0, np.ones(4), deadline=0.05)
            x = np.ones(4)
            event = other.allreduce(x, wait=False, after=lone)
            with self.assertRaises(choir.ChoirError):
                event.wait()

    def test_await(self):
        x, y = np.ones(4), np.ones(4)

        async def program():
            events = [self.start(0, x), self.start(1, y)]
            await asyncio.gather(*(one_of(event) for event in events))
            await events[0]
            with self.assertRaises(choir.DeadlineError):
                await self.start(0, x, deadline=0.05)
            return "over"

        async def one_of(event):
            await event

        self.assertEqual(asyncio.run(program()), "over")
        self.assertEqual(y[3], 2)

    def test_await_of_a_closed_loop(self):
        async def program():
            event = self.start(0, np.ones(4))
            asyncio.ensure_future(self.wait_of(event))
            await asyncio.sleep(0)
            return event

        event = asyncio.run(program())
        self.start(1, np.ones(4)).wait()
        event.wait()

    async def wait_of(self, event):
        await event


class Threads(unittest.TestCase):
    def test_others_run_while_one_waits(self):
        """A wait does not hold the interpreter: the other rank, a thread of this one, comes to make its call."""

        def fn(comm):
            x = np.ones(100000, np.float32)
            for _ in range(20):
                comm.allreduce(x, op="max")
                comm.allreduce(x, op="max", wait=False).wait()

        run_ranks(3, fn)


if __name__ == "__main__":
    unittest.main()
