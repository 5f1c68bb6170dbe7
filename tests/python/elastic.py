# SPDX-License-Identifier: MIT
"""What torchrun gives its workers: an agent's store, and the variables that name it; Debian's torchrun itself does not
run on Python 3.11.  The lines of docs/torch.md are run by them too.
usage: elastic.py, which runs itself again on two workers"""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "torch.md"


def page():
    """The lines of the page, with a model of one layer; its gradient is the mean of the two ranks'."""
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    names = dict(torch=torch, DistributedDataParallel=DistributedDataParallel, model=torch.nn.Linear(3, 1))
    exec(compile(block, str(PAGE), "exec"), names)
    rank = torch.distributed.get_rank()
    names["model"](torch.full((1, 3), rank + 1.0)).sum().backward()
    assert names["model"].module.weight.grad.tolist() == [[1.5, 1.5, 1.5]]
    assert torch.distributed.get_backend() == "choir"
    torch.distributed.destroy_process_group()


def worker():
    import choir
    import numpy as np

    with choir.from_environment(deadline=60) as comm:
        x = np.full(1000, comm.rank + 1)
        comm.allreduce(x)
        print(f"rank {comm.rank} of {comm.size}: {x[999]}")
    page()


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
