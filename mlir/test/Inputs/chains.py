#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""chains.py TYPE,M,K,N,P...: a module of functions relu(x A + bias + residual) B with constant A and B, whose @main prints each result.

All numbers are small integers, so that every sum is exact in any order."""

import random
import sys

ALL, ROW, COLUMN = "(i, j) -> (i, j)", "(i, j) -> (i)", "(i, j) -> (j)"
NARROW = {"f32": None, "bf16": "arith.truncf", "f16": "arith.truncf", "i8": "arith.trunci"}


def literal(shape, seed, is_float):
    numbers = random.Random(seed)
    row = lambda size: "[" + ", ".join(f"{numbers.randint(-4, 4)}{'.0' * is_float}" for _ in range(size)) + "]"
    return "dense<" + (row(shape[0]) if len(shape) == 1 else "[" + ", ".join(row(shape[1]) for _ in range(shape[0])) + "]") + ">"


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def chain(number, element, m, k, n, p):
    acc = "i32" if element == "i8" else "f32"
    is_float = acc == "f32"
    add, most, zero = ("arith.addf", "arith.maximumf", "0.0") if is_float else ("arith.addi", "arith.maxsi", "0")
    x, a, b, sums, between, result = (tensor(s, e) for s, e in (((m, k), element), ((k, n), element), ((n, p), element),
                                                               ((m, n), acc), ((m, n), element), ((m, p), acc)))
    maps = ", ".join(f"affine_map<{each}>" for each in (ALL, COLUMN, ROW, ALL, ALL))
    narrow = f"    %t = {NARROW[element]} %r : {acc} to {element}\n" if NARROW[element] else ""
    return f"""func.func private @chain{number}(%x: {x}, %rows: tensor<{m}x{acc}>, %residual: {sums}) -> {result} {{
  %zero = arith.constant {zero} : {acc}
  %a = arith.constant {literal((k, n), 1, is_float)} : {a}
  %b = arith.constant {literal((n, p), 2, is_float)} : {b}
  %bias = arith.constant {literal((n,), 3, is_float)} : tensor<{n}x{acc}>
  %e1 = tensor.empty() : {sums}
  %z1 = linalg.fill ins(%zero : {acc}) outs(%e1 : {sums}) -> {sums}
  %s1 = linalg.matmul ins(%x, %a : {x}, {a}) outs(%z1 : {sums}) -> {sums}
  %e2 = tensor.empty() : {between}
  %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%s1, %bias, %rows, %residual : {sums}, tensor<{n}x{acc}>, tensor<{m}x{acc}>, {sums}) outs(%e2 : {between}) {{
  ^bb0(%c: {acc}, %d: {acc}, %e: {acc}, %f: {acc}, %g: {element}):
    %o = {add} %c, %d : {acc}
    %q = {add} %e, %f : {acc}
    %h = {add} %o, %q : {acc}
    %r = {most} %h, %zero : {acc}
{narrow}    linalg.yield {'%t' if narrow else '%r'} : {element}
  }} -> {between}
  %e3 = tensor.empty() : {result}
  %z3 = linalg.fill ins(%zero : {acc}) outs(%e3 : {result}) -> {result}
  %s2 = linalg.matmul ins(%y, %b : {between}, {b}) outs(%z3 : {result}) -> {result}
  return %s2 : {result}
}}"""


def made(name, shape, element, seed):
    """Numbers from 0 to 3."""
    indices = [f"%i{i}" for i in range(len(shape))]
    last = indices[-1]
    lines = [f"%{name} = tensor.generate {{", f"^bb0({', '.join(i + ': index' for i in indices)}):",
             f"  %seed = arith.constant {seed} : index", f"  %0 = arith.muli {indices[0]}, %seed : index",
             f"  %1 = arith.addi %0, {last} : index", "  %four = arith.constant 4 : index", "  %2 = arith.remui %1, %four : index",
             "  %3 = arith.index_cast %2 : index to i32"]
    lines.append({"i32": "  %4 = arith.addi %3, %3 : i32", "i8": "  %4 = arith.trunci %3 : i32 to i8"}.get(
        element, f"  %4 = arith.sitofp %3 : i32 to {element}"))
    return lines + [f"  tensor.yield %4 : {element}", f"}} : {tensor(shape, element)}"]


def main():
    functions, calls = [], []
    for number, text in enumerate(sys.argv[1:]):
        element, *sizes = text.split(",")
        m, k, n, p = map(int, sizes)
        acc = "i32" if element == "i8" else "f32"
        functions.append(chain(number, element, m, k, n, p))
        calls += made(f"x{number}", (m, k), element, 7) + made(f"r{number}", (m,), acc, 5) + made(f"s{number}", (m, n), acc, 3)
        calls += [f"%y{number} = func.call @chain{number}(%x{number}, %r{number}, %s{number}) : ({tensor((m, k), element)}, "
                  f"{tensor((m,), acc)}, {tensor((m, n), acc)}) -> {tensor((m, p), acc)}",
                  f"%u{number} = tensor.cast %y{number} : {tensor((m, p), acc)} to tensor<*x{acc}>",
                  f"func.call @printMemref{acc.upper()}(%u{number}) : (tensor<*x{acc}>) -> ()"]
    print("func.func private @printMemrefF32(tensor<*xf32>)\nfunc.func private @printMemrefI32(tensor<*xi32>)")
    print("\n".join(functions))
    print("func.func @main() {\n" + "\n".join("  " + line for line in calls) + "\n  return\n}")


main()
