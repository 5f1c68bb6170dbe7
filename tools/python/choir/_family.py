# SPDX-License-Identifier: MIT
"""Comms of some ranks of a comm: splits, groups by a rule, groups by their members and a name."""

from __future__ import annotations

import ctypes as ct
import os
import threading
from typing import Any, NamedTuple, Sequence

from ._abi import CommConfig, CommGroup
from ._event import Event, Unclaimed
from ._library import check, check_made, lib, take_text
from ._numbers import array, milliseconds, number

#: the comms that are open, also those that nobody names: their calls may be in flight when the interpreter exits
live: set[Any] = set()

#: a comm that another thread destroys is not aborted; a signal's handler may come in between
_handles = threading.RLock()


def _forget() -> None:
    global _handles
    _handles = threading.RLock()
    live.clear()


os.register_at_fork(after_in_child=_forget)


def abort(comm: Any) -> None:
    """Unless it is closed."""
    with _handles:
        if comm._handle:
            lib.choir_comm_abort(comm._handle)


def take(comm: Any) -> int:
    """Its handle, for the one who destroys it."""
    with _handles:
        handle, comm._handle = comm._handle, 0
    return handle


class GroupPlace(NamedTuple):
    """Where a rank is among the groups of a rule."""

    group: int  #: its group's number; groups are numbered by their lowest ranks
    rank: int  #: its rank there
    size: int
    stride: int


class CommEvent(Event):
    """The event of a comm in the making; ``wait`` returns the comm, or of a split None."""

    __slots__ = ("_make", "_made")

    def __init__(self, held: Any, make: Any) -> None:
        super().__init__(Unclaimed(held, make))
        self._make = make
        self._made: Any = None

    def _outcome(self) -> Any:
        if self._make is not None:
            super()._outcome()
            make, self._make = self._make, None
            self._made = make()
        return self._made


def make_config(deadline: float | None = None, warn: float | None = None, ranks_per_node: int = 0,
                rules: str | None = None, name: str | None = None, keyed: bool = False, options: str | None = None,
                order_ranks: bool = False) -> CommConfig:  # fmt: skip
    """A choir_comm_config; what is left out is the environment's or the library's."""
    config = CommConfig(struct_size=ct.sizeof(CommConfig))
    config.ranks_per_node = number("ranks_per_node", ranks_per_node)
    config.deadline_ms = 0 if deadline is None else milliseconds("deadline", deadline)
    config.warn_ms = 0 if warn is None else milliseconds("warn", warn)
    config.rules = None if rules is None else rules.encode()
    config.name = None if name is None else name.encode()
    config.keyed, config.order_ranks = int(keyed), int(order_ranks)
    config.options = None if options is None else options.encode()
    return config


def _group(rule: str) -> CommGroup:
    group = CommGroup(struct_size=ct.sizeof(CommGroup))
    check(lib.choir_comm_group_parse(rule.encode(), ct.byref(group)))
    return group


def group_text(rule: str) -> str:
    """A rule as the library writes it: "consecutive, size=4, stride=1"; ArgumentError if it is none."""
    text = ct.c_void_p()
    check(lib.choir_comm_group_text(ct.byref(_group(rule)), ct.byref(text)))
    return take_text(text)


class Family:
    """The methods of a comm that make others.

    settings of each: what is to differ from the comm: deadline, warn, rules, name, and of a split keyed and options.
    """

    _handle: int
    _kept: Any

    def _child(self, made: ct.c_void_p) -> Any:
        kind: Any = type(self)  # a Comm
        return kind(made.value, self._kept) if made.value else None

    def split(self, color: int, key: int = 0, **settings: Any) -> Any:
        """A comm of the ranks that gave the same color, ordered by key, then rank; a negative color gets None."""
        made = ct.c_void_p()
        config = ct.byref(make_config(**settings)) if settings else None
        place = number("color", color), number("key", key)
        status = lib.choir_comm_split_config(self._handle, *place, config, ct.byref(made))
        check_made(status, lib.choir_comm_destroy, made.value)
        return self._child(made)

    def split_start(self, color: int, key: int = 0, **settings: Any) -> CommEvent:
        """The same, at once: an event whose ``wait`` returns the comm.  No other collective call until then."""
        made = ct.c_void_p()
        event = CommEvent((made, self), lambda: self._child(made))
        config = ct.byref(make_config(**settings)) if settings else None
        place = number("color", color), number("key", key)
        check(lib.choir_comm_split_start(self._handle, *place, config, ct.byref(made), event._out))
        return event

    def group_split(self, rule: str, **settings: Any) -> Any:
        """The comm of this rank's group by a rule: "all", "consecutive, size=4", "orthogonal, size=2, stride=2"."""
        made, group = ct.c_void_p(), _group(rule)
        config = ct.byref(make_config(**settings)) if settings else None
        status = lib.choir_comm_group_split(self._handle, ct.byref(group), config, ct.byref(made))
        check_made(status, lib.choir_comm_destroy, made.value)
        return self._child(made)

    def group_place(self, rule: str) -> GroupPlace:
        """Where this rank would be; sends nothing.  ArgumentError if the groups do not divide the ranks."""
        numbers = [ct.c_int() for _ in range(4)]
        group = _group(rule)
        check(lib.choir_comm_group_find(self._handle, ct.byref(group), *[ct.byref(one) for one in numbers]))
        return GroupPlace(*[one.value for one in numbers])

    def create_group(self, name: str, ranks: Sequence[int], **settings: Any) -> Any:
        """A comm of these ranks, in this order, which ``find`` finds by its name.  Only the members need to call.

        A rank that is no member gets an ArgumentError that names it and the group.
        """
        made = ct.c_void_p()
        config = ct.byref(make_config(**settings)) if settings else None
        members = array("ranks", ranks, ct.c_int)
        status = lib.choir_comm_create_group(self._handle, name.encode(), members, len(ranks), config, ct.byref(made))
        check_made(status, lib.choir_comm_destroy, made.value)
        return self._child(made)

    def create_group_start(self, name: str, ranks: Sequence[int], **settings: Any) -> CommEvent:
        """The same, at once: an event whose ``wait`` returns the comm, or tells a rank that it is no member."""
        made = ct.c_void_p()
        event = CommEvent((made, self), lambda: self._child(made))
        config = ct.byref(make_config(**settings)) if settings else None
        members = array("ranks", ranks, ct.c_int)
        start = lib.choir_comm_create_group_start
        check(start(self._handle, name.encode(), members, len(ranks), config, ct.byref(made), event._out))
        return event

    def find(self, name: str) -> Any:
        """The group of that name that this rank has made.  ArgumentError if it is no member, or there is none."""
        found = ct.c_void_p()
        check(lib.choir_comm_find(self._handle, name.encode(), ct.byref(found)))
        known = next((one for one in list(live) if one._handle == found.value), None)
        return known if known is not None else self._child(found)
