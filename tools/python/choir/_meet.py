# SPDX-License-Identifier: MIT
"""How processes meet: an allgather of bytes over sockets, by way of rank 0.

Over TCP both sides prove that they know a secret (HMAC-SHA256 of fresh numbers), and every message is authenticated by
a key of that connection; nothing is encrypted.  Over a Unix socket the folder is the user's alone, and the kernel tells
the peer's user.  A stranger that connects is dropped and keeps nobody waiting: each newcomer has a thread of its own.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import ipaddress
import os
import secrets
import socket
import stat
import struct
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

from .errors import ArgumentError, DeadlineError, MismatchError, TransportError

_MAGIC = b"choir-meeting-1\n"
_HELLO_S = 10.0  # for a newcomer to introduce itself
_MOST_BYTES = 1 << 30
_CLOSED = "the meeting: the other process closed the connection"
MIN_SECRET = 16
_HERE, _GONE = b"+", b"-"
_LEAST_WAIT_S = 0.01  # a store takes 0 for no time-out at all
_MOST_PATH = 107  # bytes of a Unix socket's name: unix(7)


def _mac(key: bytes, *parts: bytes) -> bytes:
    return hmac.new(key, b"".join(struct.pack("!Q", len(part)) + part for part in parts), hashlib.sha256).digest()


class _Channel:
    """Messages over a socket; with a key, authenticated."""

    def __init__(self, sock: socket.socket, key: bytes | None, mine: bytes) -> None:
        self.sock = sock
        self.key = key
        self.sides = (mine, b"b" if mine == b"a" else b"a")
        self.numbers = [0, 0]

    def _sign(self, way: int, data: bytes) -> bytes:
        if self.key is None:
            return b""
        self.numbers[way] += 1
        return _mac(self.key, self.sides[way], struct.pack("!Q", self.numbers[way]), data)

    def send(self, data: bytes) -> None:
        self.sock.sendall(struct.pack("!Q", len(data)) + self._sign(0, data) + data)

    def receive(self) -> bytes:
        (length,) = struct.unpack("!Q", self._exactly(8))
        if length > _MOST_BYTES:
            raise TransportError(f"the meeting: a message of {length} bytes is announced, which none is")
        mac = self._exactly(32) if self.key is not None else b""
        data = self._exactly(length)
        if not hmac.compare_digest(mac, self._sign(1, data)):
            raise TransportError("the meeting: a message was changed on its way")
        return data

    def _exactly(self, n: int) -> bytes:
        data = bytearray()
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise TransportError(_CLOSED)
            data += part
        return bytes(data)


_HELLO = struct.Struct("!ii16s")


def _server_hello(sock: socket.socket, secret: bytes | None) -> tuple[int, int, _Channel]:
    """Rank and size that the newcomer tells, and the channel to it."""
    mine = secrets.token_bytes(16)
    sock.sendall(_MAGIC + mine)
    plain = _Channel(sock, None, b"a")
    told = plain._exactly(_HELLO.size)
    rank, size, theirs = _HELLO.unpack(told)
    if secret is None:
        return rank, size, plain
    if not hmac.compare_digest(plain._exactly(32), _mac(secret, b"client", mine, told)):
        raise _Stranger(rank)
    sock.sendall(_mac(secret, b"server", theirs, mine))
    return rank, size, _Channel(sock, _mac(secret, b"channel", mine, theirs), b"a")


def _client_hello(sock: socket.socket, secret: bytes | None, rank: int, size: int) -> _Channel:
    plain = _Channel(sock, None, b"b")
    if plain._exactly(len(_MAGIC)) != _MAGIC:
        raise TransportError("the meeting: what answers there is no meeting of choir's, or of another version")
    theirs = plain._exactly(16)
    mine = secrets.token_bytes(16)
    told = _HELLO.pack(rank, size, mine)
    if secret is None:
        sock.sendall(told)
        return plain
    sock.sendall(told + _mac(secret, b"client", theirs, told))
    try:
        answer = plain._exactly(32)
    except (OSError, TransportError):
        raise _Refused(f"the meeting: rank 0 refused rank {rank}: is the secret the same?") from None
    if not hmac.compare_digest(answer, _mac(secret, b"server", mine, theirs)):
        raise _Refused("the meeting: what answers there does not know the secret")
    return _Channel(sock, _mac(secret, b"channel", theirs, mine), b"b")


class _Refused(TransportError):
    """Trying again does not help."""


class _Stranger(TransportError):
    """A newcomer without the secret; the rank is what it says of itself."""

    def __init__(self, rank: int) -> None:
        super().__init__("the meeting: a newcomer does not know the secret")
        self.rank = rank


def _did_not_come(absent: list[int]) -> str:
    return f"rank{'s' * (len(absent) > 1)} {', '.join(map(str, absent))} did not come"


class Meeting:
    """An allgather over sockets.  ``gather(mine)`` gives the bytes of all ranks, in order.  A context manager."""

    def __init__(self, rank: int, size: int, deadline: float) -> None:
        self.rank = rank
        self.size = size
        self.until = time.monotonic() + deadline
        self.deadline = deadline
        self.channels: dict[int, _Channel] = {}
        self.strangers: set[int] = set()

    def _left(self) -> float:
        return max(self.until - time.monotonic(), 0.001)

    def _late(self, what: str, more: str = "") -> DeadlineError:
        return DeadlineError(f"the meeting: {what} within {self.deadline:g} s{more}")

    def _about_strangers(self, absent: list[int]) -> str:
        refused = [str(rank) for rank in absent if rank in self.strangers]
        return f"; the process that came as rank {', '.join(refused)} did not know the secret" if refused else ""

    def serve(self, listener: socket.socket, secret: bytes | None, trusted: Callable[[socket.socket], bool]) -> None:
        """Rank 0: waits for the others."""
        arrived: dict[int, _Channel] = {}
        problem: list[Exception] = []
        lock = threading.Lock()
        over = False  # nobody closes what arrives after

        def introduce(sock: socket.socket) -> None:
            try:
                sock.settimeout(_HELLO_S)
                if not trusted(sock):
                    raise TransportError("a stranger")
                rank, size, channel = _server_hello(sock, secret)
            except (OSError, TransportError) as error:
                sock.close()
                if isinstance(error, _Stranger) and 0 < error.rank < self.size:
                    self.strangers.add(error.rank)
                return
            with lock:
                if over:
                    pass
                elif size != self.size:
                    problem.append(MismatchError(f"the meeting: rank {rank} is one of {size}, rank 0 of {self.size}"))
                elif not 0 < rank < size or rank in arrived:
                    problem.append(MismatchError(f"the meeting: two processes are rank {rank} of {size}"))
                else:
                    arrived[rank] = channel
                    return
            sock.close()

        try:
            self._await_all(listener, introduce, arrived, problem)
        except BaseException:
            with lock:
                over = True
                self.channels = dict(arrived)
            self.close()  # so that nobody waits for a meeting that has failed
            raise
        self.channels = arrived

    def _await_all(self, listener: socket.socket, introduce: Callable[[socket.socket], None],
                   arrived: dict[int, _Channel], problem: list[Exception]) -> None:  # fmt: skip
        with listener:
            listener.settimeout(0.05)
            while (absent := sorted(set(range(1, self.size)) - set(arrived))) and not problem:
                if time.monotonic() > self.until:
                    raise self._late(_did_not_come(absent), self._about_strangers(absent))
                try:
                    sock = listener.accept()[0]
                except (TimeoutError, socket.timeout):  # the same from Python 3.10 on
                    continue
                threading.Thread(target=introduce, args=(sock,), daemon=True).start()
        if problem:
            raise problem[0]

    def connect(self, open_socket: Callable[[], socket.socket], secret: bytes | None, where: str) -> None:
        """Another rank: tries until rank 0 is there."""
        while True:
            try:
                sock = open_socket()
            except OSError as error:
                if time.monotonic() > self.until:
                    raise self._late(f"rank 0 did not answer at {where} ({error})") from None
                time.sleep(0.02)
                continue
            try:
                sock.settimeout(min(_HELLO_S, self._left()))
                self.channels = {0: _client_hello(sock, secret, self.rank, self.size)}
                return
            except (OSError, TransportError) as error:
                sock.close()
                if isinstance(error, _Refused):
                    raise
                if time.monotonic() > self.until:
                    raise self._late(f"rank 0 did not answer at {where} ({error})") from None
                time.sleep(0.02)

    def gather(self, mine: bytes) -> bytes:
        """The bytes of all ranks, in order; all ranks give as many."""
        try:
            for channel in self.channels.values():
                channel.sock.settimeout(self._left())
            if self.rank != 0:
                self.channels[0].send(mine)
                return self.channels[0].receive()
            parts = [mine] + [self.channels[rank].receive() for rank in range(1, self.size)]
            whole = b"".join(parts)
            if any(len(part) != len(mine) for part in parts):
                raise MismatchError(
                    "the meeting: the processes' messages differ in length: are their versions the same?"
                )
            for rank in range(1, self.size):
                self.channels[rank].send(whole)
            return whole
        except (TimeoutError, socket.timeout):  # the same from Python 3.10 on
            raise self._late("a process did not answer") from None
        except TransportError:  # an OSError too
            raise
        except (ConnectionResetError, BrokenPipeError):
            raise TransportError(_CLOSED) from None
        except OSError as error:
            raise TransportError(f"the meeting: {error}") from None

    def close(self) -> None:
        for channel in self.channels.values():
            channel.sock.close()
        self.channels = {}

    def __enter__(self) -> Meeting:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _everybody(sock: socket.socket) -> bool:
    return True


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


def _listen(host: str, port: int, backlog: int) -> socket.socket:
    """On all addresses unless host is loopback itself: a node's own name may be 127.0.1.1 there, and a Service's or a
    router's address is none of the machine's."""
    if _is_loopback(host):
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=backlog)
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=backlog, dualstack_ipv6=True)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):  # IPv6 is switched off
                raise
    return socket.create_server(("", port), backlog=backlog)


def over_tcp(rank: int, size: int, host: str, port: int, secret: bytes, deadline: float) -> Meeting:
    """Rank 0 listens on that port; the others connect to it at host."""
    if len(secret) < MIN_SECRET:
        raise ArgumentError(f"the meeting: a secret of {len(secret)} bytes can be guessed; {MIN_SECRET} are the least")
    meeting = Meeting(rank, size, deadline)
    if rank == 0:
        try:
            listener = _listen(host, port, size + 16)
        except OSError as error:
            raise TransportError(f"the meeting: rank 0 cannot listen at {host}:{port}: {error}") from None
        meeting.serve(listener, secret, _everybody)
    else:
        meeting.connect(lambda: socket.create_connection((host, port), timeout=2), secret, f"{host}:{port}")
    return meeting


def _same_user(sock: socket.socket) -> bool:
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", raw)[1] == os.getuid()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = os.lstat(folder)
    except OSError as error:
        raise TransportError(f"the meeting: {folder} cannot be its folder: {error}") from None
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077:
        raise TransportError(f"the meeting: {folder} is not a folder of this user's alone (mode 0700)")


def over_unix(rank: int, size: int, folder: str | os.PathLike, deadline: float) -> Meeting:
    """Processes of one machine and user meet in a private folder, which is made if it is not there."""
    meeting = Meeting(rank, size, deadline)
    path = str(Path(folder) / "meeting")
    if len(os.fsencode(path)) > _MOST_PATH:
        raise ArgumentError(f"the meeting: the socket {path} has a name of more than {_MOST_PATH} bytes")
    _make_folder(Path(folder))
    if rank == 0:
        listener = socket.socket(socket.AF_UNIX)
        try:
            Path(path).unlink(missing_ok=True)  # of a job that ended
            listener.bind(path)
        except OSError as error:
            listener.close()
            raise TransportError(f"the meeting: rank 0 cannot listen at {path}: {error}") from None
        listener.listen(size + 16)
        try:
            meeting.serve(listener, None, _same_user)
        finally:
            os.unlink(path)
        return meeting

    def open_socket() -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(path)
            if not _same_user(sock):
                raise PermissionError(f"{path} is another user's")
        except OSError:
            sock.close()
            raise
        return sock

    meeting.connect(open_socket, None, path)
    return meeting


class StoreMeeting:
    """The same over a torch.distributed Store.  What a rank tells begins with _HERE; one that has left says _GONE."""

    def __init__(self, store: Any, rank: int, size: int, prefix: str, deadline: float) -> None:
        self.store, self.rank, self.size, self.prefix, self.turn = store, rank, size, prefix, 0
        self.until = time.monotonic() + deadline
        self.deadline = deadline

    def _key(self, turn: int, rank: int) -> str:
        return f"{self.prefix}/{turn}/{rank}"

    def _tell(self, words: bytes) -> None:
        if self.turn == 0:  # what a store has stays there: the next meeting of the same prefix must not read it
            self.prefix += f"/{self.store.add(f'{self.prefix}/{self.rank}', 1)}"
        self.turn += 1
        self.store.set(self._key(self.turn, self.rank), words)

    def _has_come(self, rank: int) -> bool:
        """Waits, at most until the deadline; a store's own time-out has no class of its own."""
        left = max(self.until - time.monotonic(), _LEAST_WAIT_S)
        try:
            self.store.wait([self._key(self.turn, rank)], timedelta(seconds=left))
        except Exception as error:
            if self.until - time.monotonic() > _LEAST_WAIT_S:
                raise TransportError(f"the meeting: the store: {error}") from error
            return False
        return True

    def gather(self, mine: bytes) -> bytes:
        self._tell(_HERE + mine)
        absent = [rank for rank in range(self.size) if not self._has_come(rank)]
        if absent:
            raise DeadlineError(f"the meeting: {_did_not_come(absent)} within {self.deadline:g} s")
        said = [bytes(self.store.get(self._key(self.turn, rank))) for rank in range(self.size)]
        if _GONE in said:
            raise TransportError(f"the meeting: rank {said.index(_GONE)} has left it by an error: what does it say?")
        self._forget(self.turn - 1)
        return b"".join(one[1:] for one in said)

    def _forget(self, turn: int) -> None:
        """All have read what was told in a turn once all have told something in the next."""
        if turn > 0:
            try:
                self.store.delete_key(self._key(turn, self.rank))
            except (AttributeError, RuntimeError):  # a store that cannot
                pass

    def __enter__(self) -> StoreMeeting:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        if kind is not None:
            try:
                self._tell(_GONE)
            except RuntimeError:  # the store is the error
                pass
