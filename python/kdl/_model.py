# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models: shared objects of `kdl-mlir compile`, whose functions take and return arrays."""
from __future__ import annotations

import functools
import json
import os
import platform
from typing import Any, Iterator, NamedTuple, Optional, Union

from . import _kdl, _packages
from ._library import Writer, printable
from ._library import open as open_library

FORMAT = 1  # of the description that a model exports as kdl_model
NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16",
         "i8": "int8", "i1": "bool", "index": "int64", "ui64": "uint64", "ui32": "uint32", "ui16": "uint16", "ui8": "uint8", "si64": "int64", "si32": "int32",
         "si16": "int16", "si8": "int8"}
# As the compiled module calls types that it has no name of MLIR's for.
CODES = {"index": "i64", **{f"{sign}{bits}": f"{letter}{bits}" for sign, letter in (("ui", "u"), ("si", "i")) for bits in (8, 16, 32, 64)}}


class Parameter(NamedTuple):
    """An argument or a result of a model's function: type is "f32", "i64", ...; shape is a tuple, with -1 for any size, or None for a number."""

    type: str
    shape: Optional[tuple[int, ...]]

    def __str__(self) -> str:
        return printable(self.type if self.shape is None else _shown(self.type, self.shape))


def _shown(kind: str, shape: tuple[int, ...]) -> str:
    return f"{kind}[{'x'.join('?' if size < 0 else str(size) for size in shape)}]"


def _bad(path: str, text: str, error: type[_kdl.Error] = _kdl.BadFileError) -> _kdl.Error:
    return error(f"{path}: {text}")


@functools.lru_cache(maxsize=None)
def _numpy() -> Any:
    import numpy
    return numpy


def _dtype(kind: str) -> Any:
    """NumPy's type of the elements; uint16 for bfloat16 without the package ml_dtypes."""
    np = _numpy()
    if kind != "bf16":
        return np.dtype(NAMES[kind])
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("uint16")
    return np.dtype(ml_dtypes.bfloat16)


def _fits(wanted: str, dtype: Any) -> bool:
    """Whether such elements have the bytes of the wanted ones: integers of either sign do, and uint16 may be the bits of bfloat16."""
    name = NAMES[wanted]
    if not dtype.isnative:
        return False
    return dtype.name == name or wanted == "bf16" and dtype.name == "uint16" or (
        dtype.kind in "iu" and dtype.name.lstrip("u") == name.lstrip("u") and wanted != "i1")


class _Function:
    """Converts what a function's fast path leaves, and names what is wrong."""

    def __init__(self, name: str, arguments: tuple[Parameter, ...]) -> None:
        self.name, self.arguments = name, arguments

    def _wrong(self, place: str, found: str, expected: str) -> TypeError:
        return TypeError(f"{self.name}: {place}: found {found}, expected {expected}")

    def _array(self, array: Any, place: str, expected: str) -> tuple[Any, bool]:
        """NumPy's array of the same memory where there is one, and whether its elements are the bits of bfloat16."""
        np = _numpy()
        try:
            array, is_bfloat16 = _packages.to_numpy(np, array, f"{self.name}: {place}")
            if isinstance(array, np.ma.MaskedArray):
                raise self._wrong(place, "a masked array, whose mask is not looked at", "its data or filled()")
            if not isinstance(array, (np.ndarray, np.generic)) and hasattr(array, "__dlpack__"):
                array = np.from_dlpack(array)
        except (BufferError, RuntimeError) as error:
            raise TypeError(f"{self.name}: {place}: {str(error).partition(chr(10))[0]}") from None
        if not isinstance(array, (np.ndarray, np.generic)):
            if not hasattr(array, "__array_interface__") and not hasattr(array, "__array__"):
                raise self._wrong(place, str(type(array)), f"an array of {expected}")
            array = np.asarray(array)
        return np.asarray(array), is_bfloat16

    def convert(self, name: str, index: int, array: Any) -> Any:
        """The argument as an array of the declared elements, in C's order and aligned: a copy if it is not."""
        np = _numpy()
        kind, shape = self.arguments[index]
        assert shape is not None
        place, expected = f"argument {index}", _shown(kind, shape)
        array, is_bfloat16 = self._array(array, place, expected)
        fits = kind == "bf16" if is_bfloat16 else _fits(kind, array.dtype)
        if not fits or array.ndim != len(shape) or any(want not in (-1, size) for want, size in zip(shape, array.shape)):
            names = {name: short for short, name in reversed(NAMES.items())}
            said = "bf16" if is_bfloat16 else names.get(array.dtype.name, str(array.dtype)) if array.dtype.isnative else str(array.dtype)
            raise self._wrong(place, _shown(said, array.shape), expected)
        return np.require(array.view(_dtype(kind)), requirements=["C", "A"])

    def store(self, name: str, results: Any, out: Any) -> Any:
        """Copies the results into `out`, an array or a tuple of them, and returns it."""
        np = _numpy()
        made, places = (results, out) if isinstance(results, tuple) else ((results,), (out,))
        if not isinstance(places, (tuple, list)) or len(places) != len(made):
            raise self._wrong("out", str(type(out)), f"a tuple of {len(made)} arrays")
        arrays = []
        for number, (result, one) in enumerate(zip(made, places)):
            place = "out" if len(made) == 1 else f"out {number}"
            if not isinstance(result, np.ndarray):
                raise self._wrong(place, str(type(one)), "none: the function returns a number there")
            array, is_bfloat16 = self._array(one, place, f"{result.dtype} {result.shape}")
            if is_bfloat16 and result.dtype.name in ("bfloat16", "uint16"):
                array = array.view(result.dtype)
            if array.dtype != result.dtype or array.shape != result.shape:
                raise self._wrong(place, f"{array.dtype} {array.shape}", f"{result.dtype} {result.shape}")
            if not array.flags.writeable or not np.may_share_memory(array, array):
                raise self._wrong(place, "an array that is read-only", "one that can be written")
            arrays.append(array)
        for array, result in zip(arrays, made):
            array[...] = result
        return out


class Model:
    """A compiled model, which kdl.load_model opens. Its functions are its attributes: model.main(a, b), or model["main"](a, b); a model with one
    function can be called itself."""

    def __init__(self, path: str, target: str, functions: dict[str, _kdl.ModelFunction],
                 parameters: dict[str, tuple[tuple[Parameter, ...], tuple[Parameter, ...]]]) -> None:
        self._path, self._target, self._functions, self._parameters = path, target, functions, parameters
        for name, function in functions.items():
            if not hasattr(type(self), name):
                setattr(self, name, function)
        self._only = next(iter(functions.values())) if len(functions) == 1 else None

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    @property
    def target(self) -> str:
        """What it was compiled for."""
        return self._target

    @property
    def functions(self) -> dict[str, tuple[tuple[Parameter, ...], tuple[Parameter, ...]]]:
        """The arguments and the results of each function, by its name."""
        return dict(self._parameters)

    def __getitem__(self, name: str) -> _kdl.ModelFunction:
        return self._functions[name]

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(self.__dict__.get("_functions", ()))
        raise AttributeError(f"{self.__dict__.get('_path', 'model')}: no function {name}: it has {known}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Calls its function, if there is one only."""
        if self._only is None:
            raise TypeError(f"{self._path}: found {len(self._functions)} functions, expected one: call model.{next(iter(self._functions), 'NAME')}(...)")
        return self._only(*arguments, out=out)

    def __repr__(self) -> str:
        rows = (f"{name}({', '.join(map(str, arguments))}) -> {', '.join(map(str, results)) or 'nothing'}"
                for name, (arguments, results) in self._parameters.items())
        return printable(f"<kdl.Model {self._path}: {'; '.join(rows)}>")


def _parameters(path: str, rows: Any) -> tuple[Parameter, ...]:
    made = []
    for row in rows:
        kind, shape = row["type"], row.get("shape")
        if shape is not None and not all(type(size) is int and size >= -1 for size in shape):
            raise ValueError(f"found the shape {shape}")
        made.append(Parameter(kind, None if shape is None else tuple(shape)))
    unknown = next((one for one in made if one.type not in NAMES), None)
    if unknown:
        raise _bad(path, f"found the type {unknown.type}, expected one of {', '.join(NAMES)}", _kdl.UnsupportedError)
    return tuple(made)


def _described(path: str, text: str) -> tuple[str, list[tuple[str, str, tuple[Parameter, ...], tuple[Parameter, ...]]]]:
    """The target, and name, symbol, arguments and results of each function."""
    try:
        data = json.loads(text)
        version = data["format"]
        if type(version) is not int or version < 1:
            raise ValueError(f"found the format {version!r}")
        if version > FORMAT:
            raise _bad(path, f"found a model of format {version}, expected {FORMAT} at most: it needs a newer libkdl", _kdl.UnsupportedError)
        return str(data["target"]), [(row["name"], row["symbol"], _parameters(path, row["arguments"]), _parameters(path, row["results"]))
                                     for row in data["functions"]]
    except KeyError as error:
        raise _bad(path, f"kdl_model: found no {error.args[0]!r}") from None
    except (ValueError, TypeError, AttributeError) as error:
        if isinstance(error, _kdl.Error):
            raise
        raise _bad(path, f"kdl_model: {error}") from None


def _check_file(path: str) -> None:
    try:
        with open(path, "rb") as file:
            head = file.read(18)
    except OSError as error:
        raise _bad(path, f"cannot read: {error.strerror}", _kdl.FileAccessError) from None
    if head[:4] != b"\x7fELF" or len(head) < 18:
        raise _bad(path, "found another format, expected a shared object (ELF), as `kdl-mlir compile MODEL.mlir -o MODEL.so` writes it")
    if int.from_bytes(head[16:18], "little") != 3:
        raise _bad(path, "found an ELF file of another type, expected a shared object, as `kdl-mlir compile MODEL.mlir -o MODEL.so` writes it")


def _symbols(path: str, names: tuple[str, ...]) -> list[Optional[int]]:
    try:
        return _kdl.model_symbols(os.path.abspath(path), names)
    except OSError as error:
        text = str(error)
        missing = text.partition(": cannot open shared object file")[0] if "cannot open shared object file" in text else None
        if missing and "/" not in missing:
            raise _bad(path, f"needs the library {missing}, which is not found: put its folder into LD_LIBRARY_PATH", _kdl.NoMatchError) from None
        raise _bad(path, f"cannot be loaded: {text}") from None


def _check_target(path: str, target: str) -> None:
    """Whether this CPU has the features that the code was compiled for: others would end the process."""
    writer = Writer()
    writer.add(b"\x7fELF", triple=f"{platform.machine()}-unknown-linux-gnu", arch=target)
    for verdict in open_library(writer.bytes()).explain(None, "host"):
        for reason in verdict.reasons:
            if reason.code != "unknown_arch":
                raise _bad(path, reason.words, _kdl.NoMatchError)


def load_model(path: Union[str, os.PathLike[str]]) -> Model:
    """Opens a model that `kdl-mlir compile` made. Its functions are attributes: model.main(a, b).

    Arguments are NumPy's arrays, PyTorch's tensors on the CPU, other arrays with __dlpack__, and numbers; arrays that are not contiguous in C's
    order are copied. Results are NumPy's arrays, or numbers. out= copies the results into arrays that exist. The file's code runs in this
    process: open only what you trust."""
    shown = os.fspath(path)
    _check_file(shown)
    address = _symbols(shown, ("kdl_model",))[0]
    if address is None:
        raise _bad(shown, "is not a model: it has no symbol kdl_model, which `kdl-mlir compile MODEL.mlir -o MODEL.so` writes")
    target, rows = _described(shown, _kdl.model_text(address))
    _check_target(shown, target)
    codes = _symbols(shown, tuple(symbol for _, symbol, _, _ in rows))
    example = _numpy().zeros((2, 3), "float32")
    functions = {}
    for (name, symbol, arguments, results), code in zip(rows, codes):
        if code is None:
            raise _bad(shown, f"{name}: found no symbol {symbol}")
        slow = _Function(name, arguments)
        described = [tuple((CODES.get(kind, kind), None if shape is None else _dtype(kind), shape) for kind, shape in part) for part in (arguments, results)]
        try:
            functions[name] = _kdl.ModelFunction(name, code, described[0], described[1], slow.convert, slow.store, example)
        except ValueError as error:
            raise _bad(shown, f"{name}: {error}", _kdl.UnsupportedError) from None
    return Model(shown, target, functions, {name: (arguments, results) for name, _, arguments, results in rows})
