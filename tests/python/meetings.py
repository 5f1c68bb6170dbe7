# SPDX-License-Identifier: MIT
"""What the tests of meetings share: ranks that meet, a free port, a store of torch's kind."""

import socket
import threading

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
