# SPDX-License-Identifier: MIT
"""A rank of test_torch: every c10d call against what torch's own arithmetic says, and DDP against gloo."""

import gc
import os
import re
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

import choir
import choir.torch  # noqa: F401  registers the backend
from choir._family import live

PAGE = Path(__file__).parents[2] / "docs" / "torch.md"


def given(rank, n=1000):
    return (torch.arange(n) * 7 + rank * 13).remainder(50).float()


def calls():
    r, n = dist.get_rank(), dist.get_world_size()
    x = given(r)
    dist.all_reduce(x)
    assert torch.equal(x, sum(given(p) for p in range(n)))
    x = given(r).reshape(20, 50).t()  # not contiguous
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    assert torch.equal(x, torch.stack([given(p) for p in range(n)]).max(0)[0].reshape(20, 50).t())
    x = torch.complex(given(r), given(r + 1))
    dist.all_reduce(x)
    assert torch.equal(x.imag, sum(given(p + 1) for p in range(n)))
    work = dist.all_reduce(given(r), async_op=True)
    assert work.get_future().then(lambda f: f.value()[0].sum()).wait() == sum(given(p).sum() for p in range(n))
    x = given(r)
    dist.broadcast(x, n - 1)
    assert torch.equal(x, given(n - 1))
    x = given(r)
    dist.reduce(x, 0, op=dist.ReduceOp.MIN)
    assert r or torch.equal(x, torch.stack([given(p) for p in range(n)]).min(0)[0])
    parts = [torch.zeros(1000) for _ in range(n)]
    dist.all_gather(parts, given(r))
    assert all(torch.equal(parts[p], given(p)) for p in range(n))
    tables = [torch.zeros(100, 10) for _ in range(n)]
    dist.all_gather(tables, given(r).reshape(100, 10))
    assert all(torch.equal(tables[p].reshape(-1), given(p)) for p in range(n))
    try:
        dist.all_gather([torch.zeros(2, 1000) for _ in range(n)], given(r))
        raise AssertionError("a tensor of twice the elements was filled")
    except RuntimeError as error:
        assert "2000 elements, the call needs 1000" in str(error), error
    for gather, outs, given_ in (
        (dist.all_gather, [torch.zeros(1000) for _ in range(n + 1)], given(r)),
        (dist.all_gather_coalesced, [[torch.zeros(1000)] for _ in range(n + 1)], [given(r)]),
    ):
        try:
            gather(outs, given_)
            raise AssertionError("a tensor of no rank was filled")
        except RuntimeError as error:
            assert f"{n + 1} " in str(error) and "not one for each" in str(error), error
    many = [[torch.zeros(1000), torch.zeros(0), torch.zeros(5, dtype=torch.cfloat)] for _ in range(n)]
    dist.all_gather_coalesced(many, [given(r), torch.zeros(0), torch.complex(given(r, 5), given(r + 1, 5))])
    assert all(torch.equal(many[p][0], given(p)) for p in range(n))
    assert all(torch.equal(many[p][2].imag, given(p + 1, 5)) for p in range(n))
    out = torch.zeros(1000)
    dist.reduce_scatter(out, [given(r + p) for p in range(n)])
    assert torch.equal(out, sum(given(p + r) for p in range(n)))
    dist.scatter(out, [given(p) for p in range(n)] if r == 0 else None, src=0)
    assert torch.equal(out, given(r))
    dist.gather(given(r), parts if r == n - 1 else None, dst=n - 1)
    assert r != n - 1 or all(torch.equal(parts[p], given(p)) for p in range(n))
    outs = [torch.zeros(p + r) for p in range(n)]
    dist.all_to_all(outs, [given(r, r + p) for p in range(n)])
    assert all(torch.equal(outs[p], given(p, p + r)) for p in range(n))
    out = torch.zeros(n, 5)
    dist.all_to_all_single(out, given(r, n * 5).reshape(n, 5))
    assert all(torch.equal(out[p], given(p, n * 5).reshape(n, 5)[r]) for p in range(n))
    dist.barrier()
    assert dist.get_backend() == "choir"


def complex_moves():
    """Of complex tensors, some of them by columns."""
    r, n = dist.get_rank(), dist.get_world_size()

    def mine(rank, k=0):
        return torch.complex(given(rank + k, 12), given(rank + k + 1, 12)).reshape(4, 3).t()

    def empty():
        return torch.zeros(4, 3, dtype=torch.cfloat).t()

    outs = [empty() for _ in range(n)]
    dist.all_to_all(outs, [mine(r, p) for p in range(n)])
    assert all(torch.equal(outs[p], mine(p, r)) for p in range(n))
    outs = [empty() for _ in range(n)]
    dist.gather(mine(r), outs if r == 1 else None, dst=1)
    assert r != 1 or all(torch.equal(outs[p], mine(p)) for p in range(n))
    out = empty()
    dist.scatter(out, [mine(p) for p in range(n)] if r == 1 else None, src=1)
    assert torch.equal(out, mine(r))
    outs = [empty() for _ in range(n)]
    dist.all_gather(outs, mine(r))
    assert all(torch.equal(outs[p], mine(p)) for p in range(n))


def coalesced():
    """What torch 2's _coalescing_manager makes of its block; torch 1.13 has no such calls."""
    r, n = dist.get_rank(), dist.get_world_size()
    group = dist.distributed_c10d._get_default_group()
    outs = [torch.zeros(n, 1000), torch.zeros(5, 2 * n).t(), torch.zeros(0), torch.zeros(n * 3, dtype=torch.cfloat)]
    mine = [given(r), given(r, 10).reshape(2, 5), torch.zeros(0), torch.complex(given(r, 3), given(r + 1, 3))]
    group.allgather_into_tensor_coalesced(outs, mine).wait()
    assert all(torch.equal(outs[0][p], given(p)) for p in range(n))
    assert torch.equal(outs[1], torch.cat([given(p, 10).reshape(2, 5) for p in range(n)]))
    assert torch.equal(outs[3].imag, torch.cat([given(p + 1, 3) for p in range(n)]))
    opts = dist.distributed_c10d.ReduceScatterOptions()
    opts.reduceOp = dist.ReduceOp.MAX
    outs = [torch.zeros(1000), torch.zeros(5, 2).t(), torch.zeros(0)]
    whole = [torch.cat([given(r + p) for p in range(n)]), given(r, 10 * n).reshape(2 * n, 5), torch.zeros(0)]
    group.reduce_scatter_tensor_coalesced(outs, whole, opts).wait()
    assert torch.equal(outs[0], torch.stack([given(p + r) for p in range(n)]).max(0)[0])
    most = torch.stack([given(p, 10 * n).reshape(2 * n, 5) for p in range(n)]).max(0)[0]
    assert torch.equal(outs[1], most[2 * r : 2 * r + 2])
    outs = [torch.zeros(0), torch.zeros(4)]
    whole = [torch.zeros(0), torch.zeros(5 * n)]
    refuses(f"input 1: {5 * n} elements, the call needs {4 * n}", group.reduce_scatter_tensor_coalesced, outs, whole)
    outs = [torch.zeros(n)] * 2
    refuses("2 elements, the call needs 1", group.allgather_into_tensor_coalesced, outs, [torch.zeros(1)])


def refuses(words, call, *args, **named):
    try:
        call(*args, **named)
    except RuntimeError as error:
        assert re.search(words, str(error)), error
    else:
        raise AssertionError(f"not refused: {words}")


def refused():
    """Before anything is sent, so the group goes on."""
    n = dist.get_world_size()
    z, out = torch.zeros(4 * n, dtype=torch.cfloat), torch.zeros(4, dtype=torch.cfloat)
    parts = list(z.clone().chunk(n))
    refuses("MAX of complex", dist.reduce, z, 0, op=dist.ReduceOp.MAX)
    refuses("PROD of complex", dist.reduce_scatter, out, parts, op=dist.ReduceOp.PRODUCT)
    refuses("MIN of complex", dist._reduce_scatter_base, out, z, op=dist.ReduceOp.MIN)
    dist.reduce_scatter(out, [part + 1j for part in parts])
    assert torch.equal(out, torch.full((4,), n * 1j)), out
    out = torch.zeros(4)
    refuses("tensor 0: 5 elements, the call needs 4", dist.reduce_scatter, out, [torch.zeros(5)] * n)
    refuses(f"of {n + 1} tensors on {n} ranks", dist.reduce_scatter, out, [torch.zeros(4)] * (n + 1))
    refuses(f"input: {5 * n} elements, the call needs {4 * n}", dist._reduce_scatter_base, out, torch.zeros(5 * n))
    rows = torch.zeros(n + 1, n)  # whole blocks of elements, but not of rows
    refuses(f"of {n + 1} rows on {n} ranks", dist.all_to_all_single, rows.clone(), rows)
    refuses(f"of {n + 1} rows", dist.all_to_all_single, torch.zeros(n, 1), rows, output_split_sizes=[1] * n)
    dist.barrier()


def messages():
    r, n = dist.get_rank(), dist.get_world_size()
    right, left = (r + 1) % n, (r - 1) % n
    a, b, c = torch.zeros(10), torch.zeros(3, dtype=torch.int64), torch.zeros(0)
    works = [dist.irecv(a, left, tag=2), dist.irecv(b, left, tag=1), dist.irecv(c, left, tag=3)]
    dist.isend(torch.full((3,), r), right, tag=1).wait()
    dist.isend(torch.zeros(0), right, tag=3).wait()
    works[1].wait()  # before what was asked for first has been sent
    assert torch.equal(b, torch.full((3,), left))
    dist.barrier()
    dist.isend(given(r, 10), right, tag=2).wait()
    works[0].wait(), works[2].wait()
    assert torch.equal(a, given(left, 10))


def time_out():
    """A wait that ends before the work does, which goes on."""
    r, n = dist.get_rank(), dist.get_world_size()
    got = torch.zeros(3)
    work = dist.irecv(got, (r - 1) % n)
    refuses("not complete after 0.02 s", work.wait, timedelta(milliseconds=20))
    dist.barrier()
    sent = dist.isend(torch.ones(3), (r + 1) % n)
    assert work.wait(timedelta(seconds=20)) and sent.wait(timedelta(0))
    assert got.sum() == 3


def sparse():
    r, n = dist.get_rank(), dist.get_world_size()
    for shape in ((50, 4), (50,), (6, 7, 3)):
        dense = 1 if len(shape) != 1 else 0
        g = torch.Generator().manual_seed(r)
        indices = torch.stack([torch.randint(0, s, (20,), generator=g) for s in shape[: len(shape) - dense]])
        values = torch.randint(0, 9, (20, *shape[len(shape) - dense :]), generator=g).float()
        x = torch.sparse_coo_tensor(indices, values, shape)
        expected = x.to_dense()
        dist.all_reduce(expected)
        dist.all_reduce(x)
        assert torch.equal(x.to_dense(), expected), shape
    x = torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 4), (50, 4))  # nothing
    dist.all_reduce(x)
    assert x.to_dense().abs().sum() == 0


def groups():
    r, n = dist.get_rank(), dist.get_world_size()
    pending = dist.all_reduce(given(r), async_op=True)  # a group is made beside it
    for members in ([0, n - 1], [1], [0, n - 1]):
        some = dist.new_group(members)
        if r not in members:
            continue
        assert (some.comm.rank, some.comm.size) == (members.index(r), len(members))
        x = torch.full((3,), r + 1.0)
        dist.all_reduce(x, group=some)
        assert torch.equal(x, torch.full((3,), sum(member + 1.0 for member in members)))
        x = torch.full((3,), r)
        dist.broadcast(x, members[-1], group=some)
        assert torch.equal(x, torch.full((3,), members[-1]))
    pending.wait()
    dist.barrier()


def closings():
    """Ends the threads that close comms."""
    for thread in threading.enumerate():
        if thread.name == "choir closes":
            thread._started.wait()  # one that another thread is about to start is in the list too
            thread.join()


def dropped():
    """The comm of a group that was destroyed and is named no more is closed, behind its calls in flight."""
    r, n = dist.get_rank(), dist.get_world_size()
    gc.collect()
    closings()
    before = set(live)
    for _ in range(3):
        some = dist.new_group([0, n - 1])
        if r in (0, n - 1):
            dist.all_reduce(torch.ones(3), group=some)
            dist.destroy_process_group(some)
        del some
    end = time.monotonic() + 60
    while live != before and time.monotonic() < end:  # a thread of the library may be the last to name a group
        closings()
    assert live == before, (live, before)
    some = dist.new_group([0, n - 1])
    if r == n - 1:
        got, comm = torch.zeros(3), some.comm
        work = dist.irecv(got, 0, group=some)
        dist.destroy_process_group(some)
        del some
        closings()
        assert comm in live, "closed before its call has ended"
        dist.barrier()
        work.wait()
        assert torch.equal(got, torch.ones(3))
        while comm in live:  # the library's thread is, and has another close the comm
            closings()
    else:
        dist.barrier()
        if r == 0:
            dist.isend(torch.ones(3), n - 1, group=some).wait()


def groups_of_gloo():
    """Where the default group is gloo's, each group meets in the store."""
    r, n = dist.get_rank(), dist.get_world_size()
    for members in (list(range(n)), [0, n - 1]):
        some = dist.new_group(members, backend="choir")
        if r in members:
            x = torch.ones(3)
            dist.all_reduce(x, group=some)
            assert torch.equal(x, torch.full((3,), len(members) * 1.0))


def page():
    """The lines of docs/torch.md for python -m choir; those for torchrun are elastic.py's."""
    _, block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    exec(compile(block, str(PAGE), "exec"), dict(os=os, torch=torch))
    assert (dist.get_backend(), dist.get_rank()) == ("choir", int(os.environ["RANK"]))
    dist.barrier()
    dist.destroy_process_group()


class Net(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.embedding = nn.Embedding(500, 16, sparse=sparse)
        self.linear = nn.Linear(16, 8)

    def forward(self, words):
        return self.linear(self.embedding(words).mean(1)).relu().sum()


def gradients(group, sparse):
    """Of three steps of a net with an embedding, under DDP over that group."""
    torch.manual_seed(7)
    net = nn.parallel.DistributedDataParallel(Net(sparse), process_group=group)
    steps = [torch.optim.SGD(net.parameters(), lr=0.1)]
    words = torch.Generator().manual_seed(dist.get_rank())
    found = []
    for _ in range(3):
        steps[0].zero_grad()
        net(torch.randint(0, 500, (32, 10), generator=words)).backward()
        found += [p.grad.to_dense().clone() for p in net.parameters()]
        steps[0].step()
    return found


def ddp():
    gloo = dist.new_group(backend="gloo")
    for sparse in (True, False):
        for ours, theirs in zip(gradients(None, sparse), gradients(gloo, sparse)):
            assert torch.allclose(ours, theirs, rtol=0, atol=1e-6), (ours - theirs).abs().max()


def late():
    """The last: rank 1 does not call, and the group is of no more use."""
    if dist.get_rank() == 0:
        try:
            dist.all_reduce(torch.ones(4))
        except Exception as error:
            assert re.search("allreduce .*rank [1-9]", str(error)), error
        else:
            raise AssertionError("nothing was raised")


def main(seconds):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    page()
    store = f"file://{os.environ['CHOIR_MEETING']}/another"
    dist.init_process_group("choir", init_method=store, rank=rank, world_size=size, timeout=timedelta(seconds=30))
    for test in (calls, complex_moves, coalesced, refused, messages, time_out, sparse, groups, dropped, ddp):
        test()
        if rank == 0:
            print(test.__name__, "passed", flush=True)
    dist.destroy_process_group()
    dist.init_process_group("gloo", init_method=store + "1", rank=rank, world_size=size)
    groups_of_gloo()
    dist.destroy_process_group()
    dist.init_process_group("choir", init_method=store + "2", rank=rank, world_size=size,
                            timeout=timedelta(seconds=seconds))  # fmt: skip
    late()
    if rank == 0:
        print("late passed", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
