# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as PyTorch operators, for torch.compile, torch.export and CUDA graphs. Needs PyTorch 2.4.

    import kdl, kdl.torch, torch
    lib = kdl.open("./kernels.offload")
    saxpy = kdl.torch.op("mine::saxpy", lib, schema="(float a, Tensor x, Tensor y) -> Tensor",
                         outputs=lambda a, x, y: y.clone(),
                         arguments=lambda out, a, x, y: (a, x, out, x.numel()),
                         items=lambda out, a, x, y: x.numel())
    z = torch.compile(lambda x, y: saxpy(2.0, x, y).relu())(x, y)

An operator that changes its arguments marks them in its schema, as "(float a, Tensor x, Tensor(a!) y) -> ()", and has no outputs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _kdl
from ._library import Library


def _device(device: Any) -> str:
    """libkdl's device for one of PyTorch's."""
    if device.type == "cpu":
        return "host"
    if device.type != "cuda":
        raise TypeError(f"found a tensor on the device {device.type}, expected one on the CPU, on CUDA or on ROCm")
    return f"{'hip' if torch.version.hip else 'cuda'}:{device.index}"


def _first_tensor(name: str, values: tuple[Any, ...]) -> Any:
    for value in values:
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
            return value[0]
    raise TypeError(f"{name}: found no tensor among the arguments, expected one that tells the device")


def _check_contiguous(name: str, arguments: tuple[Any, ...]) -> None:
    for number, value in enumerate(arguments):
        if isinstance(value, torch.Tensor) and not value.is_contiguous():
            raise ValueError(f"{name}: argument {number} of the kernel: found a tensor of shape {tuple(value.shape)} with strides "
                             f"{value.stride()}, expected a contiguous one: pass tensor.contiguous(), or strided=True if the kernel knows "
                             "its strides")


def _tags() -> list[Any]:
    """What torch.compile may assume: it must not change the strides of the operator's tensors."""
    names = ("pt2_compliant_tag", "needs_exact_strides" if hasattr(torch.Tag, "needs_exact_strides") else "needs_fixed_stride_order")
    return [getattr(torch.Tag, name) for name in names if hasattr(torch.Tag, name)]


def op(name: str, library: Library, kernel: str | None = None, *, schema: str, arguments: Callable[..., tuple[Any, ...]],
       items: Callable[..., Any], outputs: Callable[..., Any] | None = None, strided: bool = False) -> Any:
    """Registers a kernel as the operator "namespace::name" and returns the operator.

    schema: in PyTorch's syntax, "(float a, Tensor x) -> Tensor". outputs(*inputs) creates the tensors that the operator returns, one
    or a tuple; it is also the fake implementation, by which torch.compile learns their shapes, so it may use shapes and types only.
    arguments(*outputs, *inputs) returns the kernel's arguments, and items(*outputs, *inputs) the number of work-items, or a tuple
    of them.

    kernel: its name in the library; by default the operator's. It is looked up for each device at the first call. If no
    image of the library runs on a device, the call fails with kdl.NoMatchError. Gradients: torch.library.register_autograd(name, ...)."""
    space, separator, short = name.partition("::")
    if not separator or not space.isidentifier() or not short.isidentifier():
        raise ValueError(f"name: found {name!r}, expected 'namespace::name'")
    returns_nothing = schema.replace(" ", "").endswith("->()")
    if returns_nothing != (outputs is None):
        raise ValueError(f"{name}: an operator whose schema returns {'nothing has no' if returns_nothing else 'tensors needs'} outputs")
    kernels: dict[Any, _kdl.Kernel] = {}

    def found(device: Any) -> _kdl.Kernel:
        if device not in kernels:
            kernels[device] = library.kernel(kernel or short, _device(device))
        return kernels[device]

    def run(*inputs: Any) -> Any:
        made = outputs(*inputs) if outputs else ()
        whole = (*(made if isinstance(made, (tuple, list)) else (made,)), *inputs)
        given, count = arguments(*whole), items(*whole)
        if not strided:
            _check_contiguous(name, given)
        found(_first_tensor(name, whole).device)[count](*given)
        return made if outputs else None

    def fake(*inputs: Any) -> Any:
        return outputs(*inputs) if outputs else None

    torch.library.define(name, schema, tags=_tags())
    torch.library.impl(name, ("cpu", "cuda"), run)
    torch.library.register_fake(name, fake)
    return getattr(getattr(torch.ops, space), short)
