# SPDX-License-Identifier: MIT
"""What choir says when a program goes wrong: two ranks, threads of this process, provoke each failure.

docs/troubleshooting.md quotes the sentences.
"""

import threading

import choir
import numpy as np


def provoke(title, calls, deadline=30):
    """One call for each rank; what it raised."""
    said = [None, None]

    def run(comm):
        try:
            calls[comm.rank](comm)
        except choir.ChoirError as error:
            said[comm.rank] = f"{type(error).__name__}: {error}"

    with choir.threads(2, deadline=deadline, name="trouble") as comms:
        threads = [threading.Thread(target=run, args=(comm,)) for comm in comms]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    print(f"{title}\n    {said[0]}")


x = np.ones(1000, np.float32)
provoke("a rank does not call", [lambda comm: comm.allreduce(x.copy()), lambda comm: None], deadline=1)
provoke("ranks call differently", [lambda comm: comm.allreduce(x.copy()), lambda comm: comm.allreduce(x[:999].copy())])
provoke("an array is too short", [lambda comm: comm.allgather(x, x.copy())] * 2)
provoke("a rank gives up", [lambda comm: comm.barrier(), lambda comm: comm.abort()])
