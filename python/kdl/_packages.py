# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other packages as NumPy's, and results as arrays of those packages."""
from __future__ import annotations

import sys
from typing import Any


def _torch(array: Any) -> Any:
    """PyTorch, if the array is a tensor of it."""
    torch = sys.modules.get("torch")  # whoever has a tensor has imported it
    return torch if torch is not None and isinstance(array, getattr(torch, "Tensor", ())) else None


def _of_tensor(torch: Any, np: Any, tensor: Any, what: str) -> tuple[Any, bool]:
    if tensor.device.type != "cpu":
        raise TypeError(f"{what}: found a tensor on the device {tensor.device}, expected one on the CPU")
    if tensor.layout != torch.strided:
        raise TypeError(f"{what}: found a tensor of the layout {tensor.layout}, expected torch.strided, as tensor.to_dense() returns")
    if tensor.requires_grad:
        if torch.is_grad_enabled():
            raise TypeError(f"{what}: found a tensor that requires a gradient, which is not computed: pass tensor.detach(), or use torch.no_grad()")
        tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16), True
    return tensor.resolve_conj().resolve_neg().numpy(), False


def to_numpy(np: Any, array: Any, what: str = "matmul") -> tuple[Any, bool]:
    """A tensor as a NumPy array of the same memory, and whether its elements are the bits of bfloat16; anything else as it is.
    `what` begins the error messages."""
    torch = _torch(array)
    return _of_tensor(torch, np, array, what) if torch is not None else (array, False)


def like(np: Any, array: Any, result: Any) -> Any:
    """The result as an array of the package that `array` is from; None if that is NumPy or has no such arrays."""
    torch = _torch(array)
    if torch is not None:
        return torch.from_numpy(np.asarray(result))
    if isinstance(array, np.ndarray) or not hasattr(array, "__array_namespace__"):
        return None
    return array.__array_namespace__().from_dlpack(np.asarray(result))
