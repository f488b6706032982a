#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""math_functions.py print: a module whose @main prints the results of every function of MLIR's math dialect, of
each type, as bits: of scalars in linalg.generic, and of vectors of no, one and two dimensions.
math_functions.py check FILE: whether what it printed is within 6 units in the last place of Python's functions."""

import math
import re
import struct
import sys

# Bits, those of the fraction, and the least exponent.
FLOATS = {"f16": (16, 11, -14), "bf16": (16, 8, -126), "f32": (32, 24, -126), "f64": (64, 53, -1022)}
MOST_ULP = 6
NUMBERS = [-2.5, -0.75, -2.0**-9, 2.0**-20, 0.3125, 0.875, 1.5, 6.0]
CLASSES = [math.inf, -math.inf, math.nan, -0.0, 1.5, None, -2.5, 0.0]  # None: not normal
EXPONENTS = [-3, -1, 0, 1, 2, 3, 4, 5]

UNARY = {
    "absf": abs, "acos": math.acos, "acosh": math.acosh, "asin": math.asin, "asinh": math.asinh, "atan": math.atan,
    "atanh": math.atanh, "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x), "ceil": math.ceil, "cos": math.cos,
    "cosh": math.cosh, "erf": math.erf, "erfc": math.erfc, "exp": math.exp, "exp2": lambda x: 2.0**x,
    "expm1": math.expm1, "floor": math.floor, "log": math.log, "log10": math.log10, "log1p": math.log1p,
    "log2": math.log2, "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x), "roundeven": round,
    "rsqrt": lambda x: 1 / math.sqrt(x), "sin": math.sin, "sinh": math.sinh, "sqrt": math.sqrt, "tan": math.tan,
    "tanh": math.tanh, "trunc": math.trunc}
BINARY = {"atan2": math.atan2, "copysign": math.copysign, "powf": math.pow}
CHECKS = {"isfinite": lambda x: x is None or math.isfinite(x), "isinf": lambda x: x is not None and math.isinf(x),
          "isnan": lambda x: x is not None and math.isnan(x),
          "isnormal": lambda x: x is not None and math.isfinite(x) and x != 0}
WHOLE = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
BASES = [1, -1, 2, -2, 3, -3, 7, 0]
POWERS = [-3, -5, -1, 7, 5, 3, 2, 0]


def signed(value, bits):
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def encode(value, element):
    bits, digits, least = FLOATS[element]
    if value is None:
        return 1
    if element == "bf16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    form = {"f16": "<e", "f32": "<f", "f64": "<d"}[element]
    return int.from_bytes(struct.pack(form, value), "little")


def decode(word, element):
    word &= (1 << FLOATS[element][0]) - 1
    if element == "bf16":
        return struct.unpack("<f", struct.pack("<I", word << 16))[0]
    return {"f16": lambda: struct.unpack("<e", struct.pack("<H", word)), "f32": lambda: struct.unpack("<f", struct.pack("<I", word)),
            "f64": lambda: struct.unpack("<d", struct.pack("<Q", word))}[element]()[0]


def cases():
    """The name, the types of operands and of the result, the columns of operands, and the function."""
    for element in FLOATS:
        other = NUMBERS[3:] + NUMBERS[:3]
        for name, function in UNARY.items():
            yield name, [element], element, [NUMBERS], function
        for name, function in BINARY.items():
            yield name, [element] * 2, element, [NUMBERS, other], function
        yield "fma", [element] * 3, element, [NUMBERS, other, NUMBERS], lambda a, b, c: a * b + c
        yield "clampf", [element] * 3, element, [NUMBERS, [-1.0] * 8, [2.0] * 8], lambda a, b, c: min(max(a, b), c)
        yield "fpowi", [element, "i32"], element, [NUMBERS, EXPONENTS], lambda a, b: a**b
        for name, function in CHECKS.items():
            yield name, [element], "i1", [CLASSES], function
    for element, bits in WHOLE.items():
        def power(a, b, bits=bits):
            return signed(a**b, bits) if b >= 0 else {1: 1, -1: (-1) ** b}[a] if abs(a) == 1 else 0
        yield "ipowi", [element] * 2, element, [BASES, POWERS], power
        yield "absi", [element], element, [BASES], abs
        yield "ctpop", [element], element, [BASES], lambda a, bits=bits: bin(a % (1 << bits)).count("1")
        yield "ctlz", [element], element, [BASES], lambda a, bits=bits: bits - (a % (1 << bits)).bit_length()
        yield "cttz", [element], element, [BASES], lambda a, bits=bits: ((a & -a).bit_length() - 1) if a else bits


def words(column, element):
    return [encode(v, element) if element in FLOATS else v for v in column]


def operation(name, types, result, shape):
    def typed(element):
        return element if shape is None else f"vector<{shape}{element}>"
    lines, values = [], []
    for i, element in enumerate(types):
        if element in FLOATS:
            lines.append(f"%v{i} = arith.bitcast %x{i} : {typed(f'i{FLOATS[element][0]}')} to {typed(element)}")
        elif element == "index":
            lines.append(f"%v{i} = arith.index_cast %x{i} : i64 to index")
        values.append(f"%v{i}" if element in FLOATS or element == "index" else f"%x{i}")
    if name == "clampf":
        lines.append(f"%y = math.clampf %v0 to [%v1, %v2] : {typed(types[0])}")
    else:
        both = name == "fpowi"
        lines.append(f"%y = math.{name} {', '.join(values)} : {', '.join(typed(t) for t in types) if both else typed(types[0])}")
    got = "%y"
    word = f"i{FLOATS[result][0]}" if result in FLOATS else result
    if result in FLOATS:
        lines.append(f"%b = arith.bitcast %y : {typed(result)} to {typed(word)}")
        got = "%b"
    if word == "index":
        lines.append("%z = arith.index_cast %y : index to i64")
        got = "%z"
    elif word != "i64":
        how = "extui" if result in FLOATS or word == "i1" else "extsi"
        lines.append(f"%z = arith.{how} {got} : {typed(word)} to {typed('i64')}")
        got = "%z"
    return lines, got


def print_module():
    print("func.func private @printMemrefI64(memref<*xi64>)")
    calls = []
    for number, (name, types, result, columns, _) in enumerate(cases()):
        stored = [f"i{FLOATS[t][0]}" if t in FLOATS else "i64" if t == "index" else t for t in types]
        for i, (column, element, word) in enumerate(zip(columns, types, stored)):
            numbers = ", ".join(str(signed(w, int(word[1:]))) for w in words(column, element))
            print(f"memref.global \"private\" @x{number}_{i} : memref<8x{word}> = dense<[{numbers}]>")
        for shape in [None] if "index" in types else [None, "8x", "2x4x", ""]:
            what = f"@{name}_{number}_{'s' if shape is None else 'v' + shape}"
            lines, got = operation(name, types, result, shape)
            print(f"func.func private {what}(%r: memref<8xi64>) {{\n  %c0 = arith.constant 0 : index")
            for i, word in enumerate(stored):
                print(f"  %m{i} = memref.get_global @x{number}_{i} : memref<8x{word}>")
            if shape is None:
                maps = ", ".join(["affine_map<(i) -> (i)>"] * (len(types) + 1))
                print(f"  linalg.generic {{indexing_maps = [{maps}], iterator_types = [\"parallel\"]}} ins("
                      f"{', '.join(f'%m{i}' for i in range(len(types)))} : {', '.join(f'memref<8x{w}>' for w in stored)})"
                      f" outs(%r : memref<8xi64>) {{\n  ^bb0({', '.join(f'%x{i}: {w}' for i, w in enumerate(stored))}, %o: i64):")
                print("".join(f"    {line}\n" for line in lines) + f"    linalg.yield {got} : i64\n  }}")
            else:
                for i, word in enumerate(stored):
                    all8, own = f"vector<8x{word}>", f"vector<{shape}{word}>"
                    if shape == "":
                        print(f"  %e{i} = memref.load %m{i}[%c0] : memref<8x{word}>\n"
                              f"  %x{i} = vector.broadcast %e{i} : {word} to {own}")
                    else:
                        print(f"  %l{i} = vector.load %m{i}[%c0] : memref<8x{word}>, {all8}")
                        print(f"  %x{i} = vector.shape_cast %l{i} : {all8} to {own}")
                print("".join(f"  {line}\n" for line in lines), end="")
                if shape == "":
                    print(f"  %s = vector.extract {got}[] : i64 from vector<i64>\n  memref.store %s, %r[%c0] : memref<8xi64>")
                else:
                    print(f"  %s = vector.shape_cast {got} : vector<{shape}i64> to vector<8xi64>\n"
                          "  vector.store %s, %r[%c0] : memref<8xi64>, vector<8xi64>")
            print("  return\n}")
            calls.append(what)
    print("func.func @main() {\n  %r = memref.alloc() : memref<8xi64>\n  %any = memref.cast %r : memref<8xi64> to memref<*xi64>")
    for call in calls:
        print(f"  call {call}(%r) : (memref<8xi64>) -> ()\n  call @printMemrefI64(%any) : (memref<*xi64>) -> ()")
    print("  memref.dealloc %r : memref<8xi64>\n  return\n}")


def expected(function, arguments):
    try:
        value = function(*arguments)
        return math.nan if isinstance(value, complex) else value
    except ValueError:
        return math.nan


def agrees(got, want, result):
    if result not in FLOATS:
        return got == int(want)
    value = decode(got, result)
    if math.isnan(want) or math.isnan(value):
        return math.isnan(want) and math.isnan(value)
    _, digits, least = FLOATS[result]
    exponent = max(math.frexp(want)[1] - 1, least) if want else least
    return abs(value - want) <= MOST_ULP * 2.0 ** (exponent - digits + 1)


def check(path):
    lines = [[int(n) for n in re.findall(r"-?\d+", line)] for line in open(path) if line.startswith("[")]
    at = wrong = 0
    for name, types, result, columns, function in cases():
        arguments = [[decode(encode(v, t), t) if t in FLOATS and v is not None else v for v in column]
                     for column, t in zip(columns, types)]
        want = [expected(function, row) for row in zip(*arguments)]
        for shape in ["scalars"] if "index" in types else ["scalars", "vector<8>", "vector<2x4>", "vector<>"]:
            got = lines[at][:1] if shape == "vector<>" else lines[at]
            at += 1
            for i, (g, w) in enumerate(zip(got, want)):
                if not agrees(g, w, result):
                    wrong += 1
                    print(f"{name} of {types[0]}, {shape}: of {[a[i] for a in arguments]} found "
                          f"{decode(g, result) if result in FLOATS else g}, expected {w}")
    print(f"{at} of {len(lines)} functions, {wrong} wrong")
    return wrong != 0 or at != len(lines)


sys.exit(print_module() if sys.argv[1] == "print" else check(sys.argv[2]))
