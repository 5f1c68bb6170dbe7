# SPDX-License-Identifier: MIT
"""Where comms come from: an environment, MPI's world, a gather that is not waited for."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import choir
import numpy as np
from choir import _create, _event, _family, _meet
from meetings import SECRET, Store, free_port
from ranks import run_program


class Environment(unittest.TestCase):
    PROGRAM = """
import choir, numpy
with choir.from_environment(deadline=30) as comm:
    x = numpy.full(100, comm.rank + 1)
    comm.allreduce(x)
    print(f"rank {comm.rank} of {comm.size} sum {x[99]}\\n", end="", flush=True)
"""

    def test_launcher(self):
        status, out = run_program(self.PROGRAM, 3)
        self.assertEqual(status, 0, out)
        self.assertEqual(sorted(out.splitlines()), [f"rank {r} of 3 sum 6" for r in range(3)])

    def test_launcher_ends_the_others(self):
        text = "import os, sys, time\nif os.environ['RANK'] == '1':\n    sys.exit(7)\ntime.sleep(100)\n"
        self.assertEqual(run_program(text, 2, timeout=30)[0], 7)

    def test_launcher_that_is_ended(self):
        """SIGTERM to the launcher ends its processes."""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
            program.write("import os, signal\nsignal.alarm(60)\n")
            program.write("print(f'{os.getpid()}\\n', end='', flush=True)\nsignal.pause()\n")
            program.flush()
            command = [sys.executable, "-m", "choir", "-n", "2", program.name]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
                ranks = [int(launcher.stdout.readline()) for _ in range(2)]
                launcher.terminate()
                self.assertEqual(launcher.wait(30), 143)
        for rank in ranks:
            try:
                os.kill(rank, signal.SIGKILL)
                self.fail("a rank goes on")
            except ProcessLookupError:
                pass

    def test_tcp(self):
        address = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        env = dict(address, CHOIR_SECRET=SECRET.decode(), CHOIR_MEETING="")
        got = []
        ranks = [dict(env, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
        threads = [
            threading.Thread(target=lambda one=one: got.append(run_program(self.PROGRAM, env=one))) for one in ranks
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(got), [(0, f"rank {r} of 2 sum 3\n") for r in range(2)])

    def test_what_is_missing(self):
        slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}
        names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CHOIR_SECRET", "CHOIR_MEETING",
                 *slurm, "SLURM_STEP_ID", "PMI_RANK", "PMI_SIZE")  # fmt: skip
        for env, words in (
            ({}, "neither RANK and WORLD_SIZE"),
            ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "choir.world"),
            (slurm, "without SLURM_STEP_ID"),
            (dict(slurm, SLURM_STEP_ID="0"), "MASTER_ADDR is not set"),
            (dict(slurm, SLURM_STEP_ID="0", PMI_RANK="0", PMI_SIZE="2"), "MASTER_ADDR is not set"),
            (dict(slurm, SLURM_STEP_ID="0", PMI_RANK="1", PMI_SIZE="2"), "choir.world"),
            (dict(slurm, SLURM_STEP_ID="0", PMI_RANK="0", PMI_SIZE="4"), "choir.world"),
            (dict(slurm, PMI_RANK="0", PMI_SIZE="2"), "choir.world"),
            ({"RANK": "2", "WORLD_SIZE": "2"}, "no rank 2 of 2"),
            ({"RANK": "x", "WORLD_SIZE": "2"}, "not two numbers"),
            ({"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR is not set"),
            ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, "CHOIR_SECRET has 0 characters"),
            ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "65536",
              "CHOIR_SECRET": SECRET.decode()}, "port is 65536"),
        ):
            with self.subTest(env=env), unittest.mock.patch.dict(os.environ):
                for name in names:
                    os.environ.pop(name, None)
                os.environ.update(env)
                with self.assertRaisesRegex(choir.ArgumentError, words):
                    choir.from_environment()

    def test_one_rank_meets_nobody(self):
        with unittest.mock.patch.dict(os.environ, RANK="0", WORLD_SIZE="1"):
            with choir.from_environment() as comm:
                x = np.ones(3)
                comm.allreduce(x)
                self.assertEqual((comm.size, x[0]), (1, 1))

    def test_gather_that_raises(self):
        def gather(mine):
            raise KeyError("the caller's own")

        with self.assertRaisesRegex(KeyError, "the caller's own"):
            choir.from_gather(gather, 0, 2)
        with self.assertRaisesRegex(choir.ArgumentError, "gave 3 bytes"):
            choir.from_gather(lambda mine: b"123", 0, 2)

    def test_one_is_refused(self):
        """It says why, at once; the others are told that it has left."""
        for refused in range(2):
            said = [None] * 2

            def make(rank):
                settings = dict(options="none") if rank == refused else {}
                try:
                    choir.on_this_machine(rank, 2, folder, deadline=20, **settings).close()
                except choir.ChoirError as error:
                    said[rank] = error

            with self.subTest(refused=refused), tempfile.TemporaryDirectory() as folder:
                threads = [threading.Thread(target=make, args=(rank,)) for rank in range(2)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertIsInstance(said[refused], choir.ArgumentError)
                self.assertRegex(str(said[refused]), "choir_comm_create: option")
                self.assertRegex(str(said[1 - refused]), "the other process closed the connection")

    def test_gather_that_raises_behind_a_failure(self):
        """The failure is not lost: what the gather raised is its cause."""
        status = unittest.mock.patch.object(_create.lib, "choir_comm_create", lambda *args: choir.Status.TRANSPORT)
        with status, self.assertRaises(choir.TransportError) as caught:
            choir.from_gather(lambda mine: {}["the caller's own"], 0, 2)
        self.assertIsInstance(caught.exception.__cause__, KeyError)


class World(unittest.TestCase):
    """choir.world() with a libchoir-mpi that fails."""

    LIBRARY = unittest.mock.Mock()
    LIBRARY.choir_comm_create_world.return_value = LIBRARY.choir_finalize_world.return_value = choir.Status.TRANSPORT

    def test_finalise_at_exit(self):
        """Once for however many calls, also of those that failed."""
        registered = []
        exits = unittest.mock.Mock(register=registered.append, unregister=lambda one: one in registered and
                                   registered.remove(one))  # fmt: skip
        with unittest.mock.patch.multiple(_create, mpi=lambda: self.LIBRARY, atexit=exits):
            for _ in range(2):
                with self.assertRaises(choir.TransportError):
                    choir.world()
        self.assertEqual(registered, [_create._finalize_world])

    def test_finalise_that_fails(self):
        """Its sentence is logged: without a handler logging prints it."""
        last = unittest.mock.patch.object(_create.lib, "choir_last_error", lambda: b"choir_finalize_world: one is dead")
        with unittest.mock.patch.object(_create, "mpi", lambda: self.LIBRARY), last:
            with self.assertLogs("choir", "ERROR") as logged:
                _create._finalize_world()
        self.assertEqual(logged.output, ["ERROR:choir:choir_finalize_world: one is dead"])


class Starts(unittest.TestCase):
    """choir.from_gather_start: one thread makes the comms of several ranks, whose gathers wait for each other."""

    def setUp(self):
        self.store = Store()

    def start(self, rank, size, **settings):
        gather = _meet.StoreMeeting(self.store, rank, size, "p", 30).gather
        return choir.from_gather_start(gather, rank, size, deadline=30, **settings)

    def test_ranks_of_one_thread(self):
        called, events = [], []
        for rank in range(3):
            self.assertEqual([event.done() for event in events], [False] * rank)
            events.append(self.start(rank, 3, order_ranks=True))
            events[-1].add_done_callback(called.append)
        comms = [event.wait(30) for event in events]
        self.assertIs(events[1].wait(), comms[1])
        self.assertIsNone(events[1].exception())
        self.assertEqual([(comm.rank, comm.size) for comm in comms], [(0, 3), (1, 3), (2, 3)])
        xs = [np.full(100, rank + 1) for rank in range(3)]
        with choir.group():
            for comm, x in zip(comms, xs):
                comm.allreduce(x)
        self.assertEqual([x[99] for x in xs], [6, 6, 6])
        self.assertTrue(comms[0].describe()["order_ranks"])
        while len(called) < 3:  # a callback may run behind the end of the wait
            time.sleep(0.001)
        self.assertEqual(set(called), set(events))
        for comm in comms:
            comm.close()

    def test_processes(self):
        program = """
import os, choir, numpy
from choir import _meet
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
with _meet.over_unix(rank, size, os.environ["CHOIR_MEETING"], 30) as meeting:
    comm = choir.from_gather_start(meeting.gather, rank, size, deadline=30).wait()
with comm:
    x = numpy.full(100, rank + 1)
    comm.allreduce(x)
    print(f"rank {comm.rank} of {comm.size} sum {x[99]}\\n", end="", flush=True)
"""
        status, out = run_program(program, 3)
        self.assertEqual(status, 0, out)
        self.assertEqual(sorted(out.splitlines()), [f"rank {r} of 3 sum 6" for r in range(3)])

    def test_await(self):
        async def program():
            events = [self.start(rank, 2) for rank in range(2)]
            return [await event for event in events]

        comms = asyncio.run(program())
        self.assertEqual([comm.size for comm in comms], [2, 2])
        choir.Threads(comms).__exit__(None)

    def test_a_rank_that_does_not_come(self):
        event = self.start(0, 2)
        with self.assertRaisesRegex(choir.DeadlineError, "goes on"):
            event.wait(0.05)
        with self.assertRaises(choir.RunningError):
            event.exception()
        with self.assertRaises(choir.ArgumentError):
            event.to_cl()
        comms = [self.start(1, 2).wait(), event.wait()]
        choir.Threads(comms).__exit__(None)

    def test_one_rank(self):
        with choir.from_gather_start(bytes, 0, 1).wait() as comm:
            self.assertEqual(comm.size, 1)

    def test_gather_that_raises(self):
        """The library's sentence, and what the gather raised as its cause; nothing is logged."""

        def gather(mine):
            raise KeyError("the caller's own")

        for bad, cause, words in (
            (gather, KeyError, "the caller's own"),
            (lambda mine: b"123", choir.ArgumentError, "gather gave 3 bytes"),
            (lambda mine: sys.exit("ends"), SystemExit, "ends"),
        ):
            sentence = "choir_comm_create_start: .*process 0 of 2"
            with self.assertNoLogs("choir"), self.assertRaisesRegex(choir.TransportError, sentence) as caught:
                event = choir.from_gather_start(bad, 0, 2)
                event.wait()
            for error in (caught.exception, event.exception()):
                self.assertIsInstance(error.__cause__, cause)
                self.assertIn(words, str(error.__cause__))

    def test_refused(self):
        with self.assertRaisesRegex(choir.ArgumentError, "no rank 2 of 2"):
            choir.from_gather_start(bytes, 2, 2)
        event = choir.from_gather_start(bytes, 0, 1, rules="no rule")
        with self.assertRaisesRegex(choir.ArgumentError, "rules: line 1") as caught:
            event.wait()
        self.assertIsNone(caught.exception.__cause__)

    def test_an_event_that_is_dropped(self):
        """Its comm is not lost: it is closed with those that nobody names.  A failed one leaves none."""
        before = set(_family.live)
        choir.from_gather_start(lambda mine: b"", 0, 2)
        for rank in range(2):
            self.start(rank, 2)
        while len(_family.live - before) < 2 or _event._waiting or _event._orphans:
            _event.sweep()
        made = _family.live - before
        self.assertEqual(sorted(comm.rank for comm in made), [0, 1])
        choir.Threads(made).__exit__(None)


if __name__ == "__main__":
    unittest.main()
