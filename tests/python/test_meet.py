# SPDX-License-Identifier: MIT
"""Processes meet: in a folder, over TCP with a secret, from an environment; and strangers do not."""

import asyncio
import errno
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import choir
import numpy as np
from choir import _create, _event, _family, _meet
from ranks import run_program

SECRET = b"0123456789abcdef"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def fail(error):
    raise error


def meet(n, enter):
    """enter(rank) -> Meeting, on n threads; what each gathered, or raised."""
    got = [None] * n

    def run(rank):
        try:
            with enter(rank) as meeting:
                got[rank] = [meeting.gather(bytes([rank] * 3)), meeting.gather(bytes(100000))]
        except Exception as error:
            got[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in reversed(range(n))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


class Store:
    """What torch's stores do: wait and get wait, and nothing is forgotten that is not deleted."""

    def __init__(self):
        self.values, self.changed, self.waits = {}, threading.Condition(), threading.Event()

    def wait(self, keys, timeout):
        with self.changed:
            if not all(key in self.values for key in keys):
                self.waits.set()
            if not self.changed.wait_for(lambda: all(key in self.values for key in keys), timeout.total_seconds()):
                raise RuntimeError("Timeout waiting for key")

    def delete_key(self, key):
        with self.changed:
            return self.values.pop(key, None) is not None

    def set(self, key, value):
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def get(self, key):
        with self.changed:
            if key not in self.values:
                self.waits.set()
            self.changed.wait_for(lambda: key in self.values, 20)
            return self.values[key]

    def add(self, key, amount):
        with self.changed:
            self.values[key] = self.values.get(key, 0) + amount
            return self.values[key]


class Stores(unittest.TestCase):
    def test_meetings_of_one_prefix(self):
        """Rank 0 asks first: it must not get what rank 1 said to the meeting before."""
        store = Store()
        for word in (b"old", b"new"):
            mine, others = (_meet.StoreMeeting(store, rank, 2, "p", 30) for rank in range(2))
            got = []
            early = threading.Thread(target=lambda: got.append(mine.gather(b"mine, ")))
            early.start()
            while not store.waits.wait(0.01) and early.is_alive():
                pass
            store.waits.clear()
            others.gather(word)
            early.join()
            self.assertEqual(got, [b"mine, " + word])

    def make(self, store, n, **settings):
        """A comm's size, or what was raised, of each of n ranks; settings are those of the last rank."""
        said = [None] * n

        def run(rank):
            try:
                with choir.from_store(store, rank, n, deadline=20, **(settings if rank == n - 1 else {})) as comm:
                    said[rank] = comm.size
            except choir.ChoirError as error:
                said[rank] = error

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return said

    def test_deadline(self):
        """Is the comm's, not the store's, and names the ranks."""
        with self.assertRaisesRegex(choir.DeadlineError, "ranks 1, 2 did not come within 0.2 s"):
            choir.from_store(Store(), 0, 3, deadline=0.2)

    def test_store_that_fails(self):
        store = Store()
        store.wait = lambda keys, timeout: fail(RuntimeError("Connection reset by peer"))
        with self.assertRaisesRegex(choir.TransportError, "the store: Connection reset"):
            choir.from_store(store, 0, 2, deadline=20)

    def test_keys(self):
        """A meeting leaves what was told last, and the number of the ranks' meetings."""
        store = Store()
        for meetings in (1, 2):
            self.assertEqual(self.make(store, 2), [2, 2])
            self.assertLessEqual(len(store.values), 2 + 2 * meetings, store.values)
        store.delete_key = lambda key: fail(RuntimeError("not supported"))
        self.assertEqual(self.make(store, 2), [2, 2])

    def test_one_is_refused(self):
        """The others are told that it has left; they meet again."""
        store = Store()
        said = self.make(store, 3, options="none")
        self.assertIsInstance(said[2], choir.ArgumentError)
        for error in said[:2]:
            self.assertRegex(str(error), "the meeting: rank 2 has left it")
        self.assertEqual(self.make(store, 3), [3, 3, 3])


class Tcp(unittest.TestCase):
    def setUp(self):
        self.port = free_port()

    def enter(self, rank, size=3, secret=SECRET, deadline=20):
        return _meet.over_tcp(rank, size, "127.0.0.1", self.port, secret, deadline)

    def test_gather(self):
        expected = [b"\0\0\0\1\1\1\2\2\2", bytes(300000)]
        self.assertEqual(meet(3, self.enter), [expected] * 3)

    def test_wrong_secret(self):
        got = meet(2, lambda rank: self.enter(rank, 2, *((SECRET, 3) if rank == 0 else (b"x" * 16, 20))))
        self.assertIsInstance(got[1], choir.TransportError)
        self.assertRegex(str(got[1]), "rank 0 refused rank 1: is the secret the same")
        self.assertRegex(str(got[0]), "rank 1 did not come within 3 s; who came as rank 1 did not know the secret")

    def test_short_secret(self):
        with self.assertRaisesRegex(choir.ArgumentError, "guessed"):
            self.enter(0, secret=b"1234")

    def test_strangers(self):
        """One that says nothing, one that talks nonsense, one with another secret: the meeting goes on."""
        strangers = []

        def enter(rank):
            if rank == 0:
                return self.enter(0, 2)
            for words in (None, b"GET / HTTP/1.0\r\n\r\n" * 10):
                while True:
                    try:
                        strangers.append(socket.create_connection(("127.0.0.1", self.port)))
                        break
                    except OSError:
                        pass
                if words:
                    strangers[-1].sendall(words)
            with self.assertRaises(choir.TransportError):
                self.enter(1, 2, b"another secret, long")
            return self.enter(1, 2)

        got = meet(2, enter)
        self.assertEqual(got[0][0], b"\0\0\0\1\1\1")
        for stranger in strangers:
            stranger.close()

    def test_changed_message(self):
        """A byte that changes on its way is found."""
        a, b = socket.socketpair()
        key = b"k" * 32
        sender, receiver = _meet._Channel(a, key, b"a"), _meet._Channel(b, key, b"b")
        sender.send(b"hello")
        self.assertEqual(receiver.receive(), b"hello")
        sender.send(b"hello")
        raw = bytearray(b.recv(1000))
        for place in (len(raw) - 1, 10):
            other, end = socket.socketpair()
            changed = bytearray(raw)
            changed[place] ^= 1
            other.sendall(changed)
            fresh = _meet._Channel(end, key, b"b")
            fresh.numbers = [0, 1]
            with self.assertRaisesRegex(choir.TransportError, "changed"):
                fresh.receive()
            other.close(), end.close()
        self.assertNotEqual(sender._sign(0, b"hello"), sender._sign(0, b"hello"))  # nor can one be repeated
        for sock in (a, b):
            sock.close()

    def test_nobody_comes(self):
        for rank, words in ((0, "ranks 1, 2 did not come"), (1, "rank 0 did not answer at 127.0.0.1")):
            with self.assertRaisesRegex(choir.DeadlineError, words):
                self.enter(rank, deadline=0.3)

    def test_a_name_that_is_none(self):
        none = socket.gaierror(-2, "Name or service not known")
        with unittest.mock.patch.object(socket, "getaddrinfo", side_effect=none):
            with self.assertRaisesRegex(choir.TransportError, "cannot listen at localhost:29400: .*not known"):
                _meet.over_tcp(0, 2, "localhost", 29400, SECRET, 1)
            with self.assertRaisesRegex(choir.DeadlineError, "rank 0 did not answer at nobody:29400 .*not known"):
                _meet.over_tcp(1, 2, "nobody", 29400, SECRET, 0.1)

    def test_own_name_is_loopback(self):
        """On rank 0 its node's name is 127.0.1.1, as Debian has it; the others come by another address."""
        real = socket.getaddrinfo

        def debian(host, *args, **kwargs):
            return real("127.0.1.1" if host == "node1" else host, *args, **kwargs)

        with unittest.mock.patch.object(socket, "getaddrinfo", debian):
            hosts = ["node1", "127.0.0.1", "::1" if socket.has_dualstack_ipv6() else "127.0.0.1"]
            got = meet(3, lambda rank: _meet.over_tcp(rank, 3, hosts[rank], self.port, SECRET, 10))
        self.assertEqual(got, [[b"\0\0\0\1\1\1\2\2\2", bytes(300000)]] * 3)

    def test_loopback_stays_within_the_machine(self):
        for host in ("127.0.0.1", "127.0.1.1", "localhost"):
            with _meet._listen(host, self.port, 1) as listener:
                self.assertTrue(ipaddress.ip_address(listener.getsockname()[0]).is_loopback)

    def test_without_ipv6(self):
        """A kernel that was started without it."""
        off = OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        real = socket.create_server
        with (
            unittest.mock.patch.object(socket, "has_dualstack_ipv6", return_value=True),
            unittest.mock.patch.object(socket, "create_server", lambda *args, **how: real(*args, **how)
                                       if how.get("family", socket.AF_INET) == socket.AF_INET else fail(off)),
        ):  # fmt: skip
            with _meet._listen("node1", self.port, 1) as listener:
                self.assertEqual(listener.getsockname(), ("0.0.0.0", self.port))

    def test_before_python_3_10(self):
        """socket.timeout was no TimeoutError."""
        older = type("TimeoutError", (OSError,), {})
        with unittest.mock.patch.object(_meet, "TimeoutError", older, create=True):
            with self.assertRaisesRegex(choir.DeadlineError, "rank 1 did not come"):
                _meet.over_tcp(0, 2, "127.0.0.1", free_port(), SECRET, 0.2)
            ours, theirs = socket.socketpair()
            with theirs, _meet.Meeting(1, 2, 0.2) as meeting:
                meeting.channels = {0: _meet._Channel(ours, None, b"b")}
                with self.assertRaisesRegex(choir.DeadlineError, "a process did not answer"):
                    meeting.gather(b"mine")

    def test_sizes_differ(self):
        got = meet(2, lambda rank: self.enter(rank, 2 + rank))
        self.assertRegex(str(got[0]), "rank 1 is one of 3, rank 0 of 2")
        self.assertRegex(str(got[1]), "^the meeting: the other process closed the connection")  # at once

    def test_one_does_not_come(self):
        got = meet(2, lambda rank: self.enter(rank, 3, deadline=20 if rank else 3))
        self.assertRegex(str(got[0]), "rank 2 did not come within 3 s")
        self.assertRegex(str(got[1]), "closed the connection")

    def test_one_comes_too_late(self):
        """Its handshake ends after the meeting has failed: it is told so at once, not at its deadline."""
        serve, close, hello = _meet.Meeting.serve, _meet.Meeting.close, _meet._server_hello
        meetings, closed = [], threading.Event()

        def noted_serve(meeting, *arguments):
            meetings.append(meeting)
            serve(meeting, *arguments)

        def noted_close(meeting):
            close(meeting)
            if meeting.rank == 0:
                closed.set()

        def late_hello(sock, secret):
            told = hello(sock, secret)
            meetings[0].until = 0  # its deadline is over
            closed.wait(60)
            return told

        with (
            unittest.mock.patch.multiple(_meet.Meeting, serve=noted_serve, close=noted_close),
            unittest.mock.patch.object(_meet, "_server_hello", late_hello),
        ):
            got = meet(2, lambda rank: self.enter(rank, 2, deadline=20))
        self.assertRegex(str(got[0]), "rank 1 did not come within 20 s")
        self.assertRegex(str(got[1]), "closed the connection")


class Folder(unittest.TestCase):
    def test_gather(self):
        with tempfile.TemporaryDirectory() as folder:
            got = meet(3, lambda rank: _meet.over_unix(rank, 3, folder, 20))
            self.assertEqual([one[0] for one in got], [b"\0\0\0\1\1\1\2\2\2"] * 3)
            self.assertEqual(os.listdir(folder), [])

    def test_open_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            with self.assertRaisesRegex(choir.TransportError, "alone"):
                _meet.over_unix(0, 2, folder, 1)

    def test_a_folder_that_cannot_be_made(self):
        """Nor one whose socket is a folder."""
        with tempfile.TemporaryDirectory() as folder:
            for rank, place, make in ((0, "file/under", "file"), (1, "file", "file"), (0, "", "meeting/")):
                made = Path(folder, make)
                made.mkdir() if make.endswith("/") else made.touch()
                with self.subTest(place=place), self.assertRaisesRegex(choir.TransportError, f"meeting: .*{folder}"):
                    _meet.over_unix(rank, 2, Path(folder, place), 1)

    def test_long_path(self):
        """At once, on every rank: the name of a Unix socket has 107 bytes at most."""
        with tempfile.TemporaryDirectory() as folder:
            longest = "x" * (107 - len(f"{folder}//meeting"))
            got = meet(2, lambda rank: _meet.over_unix(rank, 2, Path(folder, longest), 20))
            self.assertEqual(got[0][0], b"\0\0\0\1\1\1")
            for rank in range(2):
                with self.assertRaisesRegex(choir.ArgumentError, "more than 107 bytes"):
                    _meet.over_unix(rank, 2, Path(folder, longest + "x"), 1)

    def test_another_user(self):
        """The kernel tells who connects."""
        if os.getuid() != 0:
            self.skipTest("only root can be somebody else")
        name = f"choir-test-{os.getpid()}"
        command = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + name)  # an abstract name: no folder guards it
            listener.listen()
            for user in (0, 65534):
                subprocess.run(["/usr/bin/python3", "-c", command], check=True, user=user)
                with listener.accept()[0] as sock:
                    self.assertEqual(_meet._same_user(sock), user == 0)


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
