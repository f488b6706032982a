# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that Triton compiled, as a library that runs without Triton.

    from kdl import triton as kt
    kt.compile(softmax, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 1024}, targets=["sm_80", "sm_90", "gfx942"],
               path="softmax.offload")

    lib = kdl.open("./softmax.offload")              # in another process, without Triton
    lib["softmax"][rows](x, y, n)                    # over a grid of programs, as in Triton

pack() takes compiled kernels, as kernel[grid](...) and kernel.warmup(...) return them; pack_cache() takes Triton's cache folder.
Arguments that are constants to Triton are not parameters; the others keep their order. Assumptions about an argument, such as a
multiple of 16, must hold at every launch: the key kdl.triton.NAME of the image lists them."""
from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from . import _kdl
from ._library import Writer

_TYPES = {"i1": "i8", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}
_TRIPLES = {"cuda": ("nvptx64-nvidia-cuda", 2), "hip": ("amdgcn-amd-amdhsa", 4)}


def _arguments(text: str, start: int) -> list[str]:
    """The text between the parenthesis that opens at `start` and the one that closes it, split at commas outside of brackets."""
    depth, begin = 0, start + 1
    parts: list[str] = []
    for at in range(start, len(text)):
        letter = text[at]
        depth += (letter in "({<[") - (letter in ")}]" or (letter == ">" and text[at - 1] != "-"))
        if (letter == "," and depth == 1) or depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return [part for part in parts if part]
    raise ValueError("the text of Triton's IR ends inside a list of parameters")


def _signature(ttir: str, name: str) -> tuple[list[str], list[str]]:
    """The parameters of a kernel from Triton's IR, as libkdl's types, and the assumptions about each."""
    found = re.search(r"tt\.func\s+public\s+@\"?" + re.escape(name) + r"\"?\(", ttir)
    if not found:
        raise ValueError(f"{name}: found no such function in Triton's IR")
    types, promises = [], []
    for number, argument in enumerate(_arguments(ttir, found.end() - 1)):
        said = argument.split(":", 1)[1].strip()
        pointer = re.match(r"!tt\.ptr<([a-z0-9]+|!tt\.ptr<.*>)(?:, \d+)?>", said)
        plain = pointer or re.match(r"([a-z0-9]+)", said)
        kind = plain.group(1) if plain else said
        if pointer:
            types.append(f"ptr<{_TYPES.get(kind, 'void')}>")
        elif kind in _TYPES:
            types.append(_TYPES[kind])
        else:
            raise ValueError(f"{name}: argument {number}: found {said}, expected a pointer or a number; descriptors of tensors are "
                             "not taken")
        promise = re.search(r"tt\.divisibility = (\d+)", said)
        promises.append(promise.group(1) if promise else "1")
    return types, promises


def _parameter_count(asm: Mapping[str, Any], name: str) -> int | None:
    """How many parameters the compiled kernel takes, including hidden ones, from its assembly; None without assembly."""
    if "ptx" in asm:
        entry = re.search(r"\.entry\s+" + re.escape(name) + r"\s*\(([^)]*)\)", asm["ptx"])
        return entry.group(1).count(".param") if entry else None
    if "amdgcn" in asm:
        listed = re.search(r"\.args:(.*?)\n\s*\.group_segment_fixed_size", asm["amdgcn"], re.S)
        kinds = re.findall(r"\.value_kind:\s*(\w+)", listed.group(1)) if listed else []
        return sum(not kind.startswith("hidden_") for kind in kinds) if listed else None
    return None


def _architecture(backend: str, arch: Any, image: bytes) -> str:
    """The architecture of an image, read from the image: for sm_90a, which runs on fewer devices, Triton reports 90."""
    if backend != "cuda":
        return str(arch)
    told = str(_kdl.open_library(image).image(0)["arch"])
    return told if re.fullmatch(rf"sm_{arch}[af]", told) else f"sm_{arch}"


def _add(writer: Writer, name: str, metadata: Mapping[str, Any], asm: Mapping[str, Any]) -> None:
    """Adds one compiled kernel: Triton's metadata as a dict, and its stages by their names."""
    target = metadata["target"]
    backend, arch = target["backend"], target["arch"]
    if backend not in _TRIPLES:
        raise ValueError(f"{name}: found a kernel for {backend}, expected cuda or hip")
    if max(metadata.get("cluster_dims") or (1,)) > 1 or metadata.get("num_ctas", 1) > 1:
        raise ValueError(f"{name}: kernels of several CTAs (num_ctas, cluster_dims) are not taken")
    triple, offload_kind = _TRIPLES[backend]
    types, promises = _signature(asm["ttir"], name)
    count = _parameter_count(asm, name)
    hidden = 2 if count is None else count - len(types)
    block = metadata["num_warps"] * target["warp_size"]
    fields = [f"sig={' '.join(types)}", f"block={block}x1x1", "tile=1x1x1", f"shared={metadata['shared']}"]
    if hidden:
        fields.append(f"hidden={hidden}")
    if metadata.get("global_scratch_size"):
        raise ValueError(f"{name}: it needs {metadata['global_scratch_size']} bytes of global scratch, which are not given to it")
    image = asm["cubin" if backend == "cuda" else "hsaco"]
    writer.add(image, triple=triple, arch=_architecture(backend, arch, image), offload_kind=offload_kind,
               metadata={f"kdl.kernel.{name}": "; ".join(fields), f"kdl.triton.{name}": "multiples=" + " ".join(promises)})


def _finish(writer: Writer, path: str | os.PathLike[str] | None) -> bytes | None:
    if path is None:
        return writer.bytes()
    writer.save(path)
    return None


def pack(*compiled: Any, path: str | os.PathLike[str] | None = None) -> bytes | None:
    """One library of kernels that Triton compiled, for one or several architectures; its bytes, or None if it was saved to path."""
    writer = Writer()
    for kernel in compiled:
        metadata = kernel.metadata._asdict() if hasattr(kernel.metadata, "_asdict") else dict(kernel.metadata)
        target = metadata["target"]
        metadata["target"] = target if isinstance(target, dict) else {"backend": target.backend, "arch": target.arch,
                                                                      "warp_size": target.warp_size}
        _add(writer, metadata["name"], metadata, kernel.asm)
    return _finish(writer, path)


def pack_cache(folder: str | os.PathLike[str], path: str | os.PathLike[str] | None = None,
               names: Collection[str] | None = None) -> bytes | None:
    """The same from Triton's cache folder (TRITON_CACHE_DIR, ~/.triton/cache): every kernel in it, or those of the names.
    Among kernels of one name and architecture with different constants, the newest."""
    found: dict[tuple[str, str, str], tuple[float, str, dict[str, Any]]] = {}
    for place, _, files in os.walk(folder):
        for file in files:
            stem = os.path.join(place, file[:-len(".json")])
            if not file.endswith(".json") or not os.path.exists(stem + ".ttir"):
                continue
            with open(stem + ".json", encoding="utf-8") as opened:
                metadata = json.load(opened)
            if "target" not in metadata or (names and metadata["name"] not in names):
                continue
            key = metadata["name"], metadata["target"]["backend"], metadata["target"]["arch"]
            when = os.path.getmtime(stem + ".json")
            if key not in found or when > found[key][0]:
                found[key] = when, stem, metadata
    if not found:
        raise FileNotFoundError(f"{folder}: found no kernel that Triton compiled")
    writer = Writer()
    for _, stem, metadata in found.values():
        asm: dict[str, str | bytes] = {}
        for stage in ("ttir", "ptx", "amdgcn", "cubin", "hsaco"):
            if os.path.exists(f"{stem}.{stage}"):
                with open(f"{stem}.{stage}", "rb") as opened:
                    data = opened.read()
                asm[stage] = data if stage in ("cubin", "hsaco") else data.decode()
        _add(writer, metadata["name"], metadata, asm)
    return _finish(writer, path)


def _target(target: str | _kdl.Device) -> tuple[str, int | str, int]:
    """The parts of Triton's target for "sm_90", "gfx942" or a device such as "h200": backend, architecture, work-items in a warp."""
    arch = target if isinstance(target, str) else target.arch
    if not re.match(r"sm_\d|gfx\d", arch):
        try:
            arch = _kdl.device(arch).arch
        except _kdl.Error as error:
            raise ValueError(f"targets: found {target!r}, expected 'sm_90', 'gfx942' or a device as 'h200': {error}") from error
    if re.fullmatch(r"sm_\d+[af]?", arch):
        return "cuda", int(arch[3:].rstrip("af")), 32
    if arch.startswith("gfx"):
        return "hip", arch.split(":")[0], 64 if arch.startswith("gfx9") else 32
    raise ValueError(f"targets: found {target!r}, which is {arch}, expected a GPU of NVIDIA's or AMD's")


def compile(function: Any, signature: Mapping[str, str], constants: Mapping[str, Any] | None = None, *,  # pylint: disable=redefined-builtin
            targets: str | Iterable[str | _kdl.Device], path: str | os.PathLike[str] | None = None, multiples: Mapping[str, int] | None = None,
            **options: Any) -> bytes | None:
    """Compiles a function of @triton.jit for each target and packs the results. No GPU is needed. A target is an architecture, such
    as "sm_90" and "gfx942", or a device, such as "h200" and kdl.device("cuda:0"); several are a list, or joined by commas.

    signature: a type in Triton's syntax for each argument that is not a constant, {"x": "*fp32", "n": "i32"}; constants: the values of
    the others; multiples: known divisors of arguments, as {"x": 16}; options: Triton's, as num_warps=8."""
    found = dict.fromkeys(_target(target) for target in (targets.split(",") if isinstance(targets, str) else targets))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    values = dict(constants or {})
    whole = {name: signature.get(name, "constexpr") for name in function.arg_names}
    names = {name: number for number, name in enumerate(function.arg_names)}
    missing = [name for name, kind in whole.items() if kind == "constexpr" and name not in values]
    if missing:
        raise ValueError(f"{function.__name__}: found neither a type nor a value for {', '.join(missing)}")
    attributes = {(names[name],): [["tt.divisibility", by]] for name, by in (multiples or {}).items()}
    source = ASTSource(function, whole, {(names[name],): value for name, value in values.items()}, attributes)
    return pack(*(triton.compile(source, target=GPUTarget(*target), options=options or None) for target in found), path=path)
