from array import array

import choir

with choir.from_environment() as comm:
    x = array("f", [1, 10, 100, 1000])
    comm.allreduce(x)  # in place: the sum over all ranks

    event = comm.allreduce(x, op="max", wait=False)  # at once; other work goes on
    event.wait()
    print(f"rank {comm.rank} of {comm.size}: {list(x)}")
