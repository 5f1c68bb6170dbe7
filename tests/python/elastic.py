# SPDX-License-Identifier: MIT
"""What torchrun gives its workers: an agent's store, and the variables that name it; Debian's torchrun itself does not
run on Python 3.11.  usage: elastic.py, which runs itself again on two workers"""

import os
import subprocess
import sys

def worker():
    import choir
    import numpy as np

    with choir.from_environment(deadline=60) as comm:
        x = np.full(1000, comm.rank + 1)
        comm.allreduce(x)
        print(f"rank {comm.rank} of {comm.size}: {x[999]}")


def main():
    try:
        from torch.distributed import TCPStore
    except ImportError:
        print("skipped: there is no python3-torch (tools/check installs it)")
        sys.exit(77)
    store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    env = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(store.port),
               TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0")  # fmt: skip
    started = [
        subprocess.Popen([sys.executable, "-W", "ignore", __file__, "worker"], env=dict(env, RANK=str(rank)),
                         stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]  # fmt: skip
    said = [one.communicate(timeout=100)[0] for one in started]
    assert said == ["rank 0 of 2: 3\n", "rank 1 of 2: 3\n"], said


if __name__ == "__main__":
    worker() if sys.argv[1:] == ["worker"] else main()
