# SPDX-License-Identifier: MIT
"""PyTorch's tensors as operands of the torch.distributed backend: contiguous, of types that choir has."""

from __future__ import annotations

from typing import Any

import torch

from ._numbers import counted


def reals(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's elements, those of a complex one as pairs of reals."""
    tensor = tensor.detach()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def joined(tensors: Any, like: torch.Tensor) -> torch.Tensor:
    """The elements of all tensors, of the type of ``like``, one after another."""
    parts = [reals(one).reshape(-1) for one in tensors]
    return torch.cat(parts) if parts else torch.empty(0, dtype=reals(like).dtype)


def lengths(tensors: Any) -> list[int]:
    return [reals(one).numel() for one in tensors]


def put(tensors: Any, parts: Any) -> None:
    """Fills each tensor with the elements of a part."""
    for tensor, part in zip(tensors, parts):
        view = reals(tensor)
        view.copy_(part.reshape(view.shape))


class Operands:
    """The caller's tensors as operands: contiguous, of types that choir reduces; ``store`` writes copies back."""

    def __init__(self) -> None:
        self.copies: list[tuple[torch.Tensor, torch.Tensor]] = []

    def take(self, tensor: torch.Tensor, written: bool = True) -> torch.Tensor:
        if tensor.is_sparse:
            raise RuntimeError("the backend choir takes sparse tensors in all_reduce alone")
        flat = reals(tensor)
        if flat.is_contiguous():
            return flat
        copy = flat.contiguous()
        if written:
            self.copies.append((flat, copy))
        return copy

    def store(self) -> None:
        for tensor, copy in self.copies:
            tensor.copy_(copy)


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.numel() == 0:
        return torch.empty(0, dtype=torch.uint8)
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def listed(tensors: Any) -> list:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def elements(sizes: Any, tensor: torch.Tensor, n: int) -> list[int]:
    """Elements of each rank's block, of sizes that count rows."""
    if not sizes:
        rows = tensor.shape[0] if tensor.dim() > 0 else 1
        if rows % n:
            given = counted(rows, "row")
            raise RuntimeError(f"all_to_all of {given} on {n} ranks: without sizes it needs equal blocks")
        return [tensor.numel() // n] * n
    row = tensor[0].numel() if tensor.dim() > 0 and tensor.shape[0] else 0
    return [size * row for size in sizes]


def flatten(indices: torch.Tensor, shape: Any) -> torch.Tensor:
    flat = indices[0]
    for dim in range(1, len(shape)):
        flat = flat * shape[dim] + indices[dim]
    return flat.contiguous()


def unflatten(flat: torch.Tensor, shape: Any) -> torch.Tensor:
    rows = []
    for size in reversed(shape[1:]):
        rows.append(flat % size)
        flat = torch.div(flat, size, rounding_mode="floor")
    return torch.stack([flat, *reversed(rows)])
