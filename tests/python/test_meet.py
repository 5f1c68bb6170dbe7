# SPDX-License-Identifier: MIT
"""Processes meet: over a store, over TCP with a secret, in a folder; and strangers do not."""

import errno
import ipaddress
import os
import socket
import subprocess
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import choir
from choir import _meet
from meetings import SECRET, Store, fail, free_port, meet


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
        self.assertRegex(str(got[0]), "rank 1 did not come within 3 s; the process that came as rank 1 did not know")

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


if __name__ == "__main__":
    unittest.main()
