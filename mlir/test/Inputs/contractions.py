#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""contractions.py TYPE...: a module of contractions in linalg on tensors, whose @main prints each
result: for f32, bf16, f16 or i8; with `sizes` before TYPE, of dynamic sizes; with `transposed`, of operands with rows side by side; with
`convolutions`, of those.

All operands are small integers, so that every sum is exact in any order."""

import sys

RESULT = {"f32": "f32", "bf16": "f32", "f16": "f32", "i8": "i32", "f64": "f64"}
functions, calls = [], []


def tensor(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def dynamic(shape):
    return ["?"] * len(shape)


def make(name, shape, element, seed, special=""):
    """Elements from -90 to 90; `special` is code that changes %v."""
    indices = [f"%i{i}" for i in range(len(shape))]
    code = [f"%{name} = tensor.generate {{", f"^bb0({', '.join(i + ': index' for i in indices)}):",
            f"  %s0 = arith.constant {seed} : index"]
    for i, (index, factor) in enumerate(zip(indices, (37, 11, 5, 3, 7))):
        code += [f"  %f{i} = arith.constant {factor} : index",
                 f"  %p{i} = arith.muli {index}, %f{i} : index",
                 f"  %s{i + 1} = arith.addi %s{i}, %p{i} : index"]
    code += ["  %end = arith.constant 181 : index", f"  %r = arith.remui %s{len(shape)}, %end : index",
             "  %w = arith.index_cast %r : index to i32", "  %half = arith.constant 90 : i32",
             "  %n = arith.subi %w, %half : i32"]
    if element == "i8":  # from -128 to 127
        code += ["  %more = arith.constant 3 : i32", "  %m = arith.muli %n, %more : i32",
                 "  %v = arith.trunci %m : i32 to i8"]
    elif element == "i32":
        code += ["  %zero = arith.constant 0 : i32", "  %v = arith.addi %n, %zero : i32"]
    elif element in ("f32", "f64"):
        code += [f"  %v = arith.sitofp %n : i32 to {element}"]
    else:
        code += ["  %x = arith.sitofp %n : i32 to f32", f"  %v = arith.truncf %x : f32 to {element}"]
    code += special.splitlines()
    code += [f"  tensor.yield {'%u' if special else '%v'} : {element}", f"}} : {tensor(shape, element)}"]
    return code


def case(operation, operands, result, hide=False, special="", constants=(), tail="", sizes=None, also=()):
    """operands: (shape, element) each; the last one is the accumulator, or None for zeros.
    operation: text with {0}, {1}, ... for operands' names and {t0}, ... for their types.
    sizes: the sources of the result's sizes, as pairs of an operand and its dimension. also: further shapes of operands."""
    number = len(functions)
    shape, element = result
    seen = [(dynamic(s) if hide and i not in constants else s, e) for i, (s, e) in enumerate(operands)]
    seen_result = (dynamic(shape) if hide else shape, element)
    zeros = len(operands) == operation.count("{t") - 1
    names = [f"%a{i}" for i in range(len(operands))]
    body, parameters = [], []
    for i, (s, e) in enumerate(seen):
        if i in constants:
            body.append(f"{names[i]} = arith.constant {literal(s, e, i)} : {tensor(s, e)}")
        else:
            parameters.append(f"{names[i]}: {tensor(s, e)}")
    if zeros:
        body += [f"%zero = arith.constant {'0.0' if element[0] == 'f' else '0'} : {element}"]
        wanted = []
        for i, (operand, dim) in enumerate((sizes or [(0, 0), (1, 1)]) if hide else []):
            body += [f"%c{i} = arith.constant {dim} : index",
                     f"%d{i} = tensor.dim %a{operand}, %c{i} : {tensor(*seen[operand])}"]
            wanted.append(f"%d{i}")
        body += [f"%empty = tensor.empty({', '.join(wanted)}) : {tensor(*seen_result)}",
                 f"%filled = linalg.fill ins(%zero : {element}) outs(%empty : {tensor(*seen_result)})"
                 f" -> {tensor(*seen_result)}"]
        names.append("%filled")
        seen.append(seen_result)
    types = {f"t{i}": tensor(*t) for i, t in enumerate(seen)}
    body.append("%sum = " + operation.format(*names, **types) + f" -> {types[f't{len(seen) - 1}']}")
    last = "%sum"
    if tail:
        body += tail.format(t=tensor(*seen_result)).splitlines()
        last = "%tail"
    functions.append([f"func.func private @case{number}({', '.join(parameters)}) -> {tensor(*seen_result)} {{",
                      *("  " + line for line in body), f"  return {last} : {tensor(*seen_result)}", "}"])
    for run, shapes in enumerate([[s for s, _ in operands], *also]):
        arguments = [(s, e) for s, (_, e) in zip(shapes, operands)]
        # MLIR's runner prints elements of empty tensors.
        empty = hide and any(0 in (shapes[operand] or [1])[dim:dim + 1] for operand, dim in sizes or [(0, 0), (1, 1)])
        call(f"{number}_{run}", number, arguments, seen, seen_result, hide, special, constants, not empty)


def call(name, number, operands, seen, seen_result, hide, special, constants, shown):
    arguments = []
    for i, (s, e) in enumerate(operands):
        if i in constants:
            continue
        argument = f"v{name}_{i}"
        calls.extend(make(argument, s, e, 17 * i + 5 * number, special if i == 0 else ""))
        if hide:
            calls.append(f"%{argument}h = tensor.cast %{argument} : {tensor(s, e)} to {tensor(dynamic(s), e)}")
            argument += "h"
        arguments.append(argument)
    types = ", ".join(tensor(*seen[i]) for i in range(len(operands)) if i not in constants)
    element = seen_result[1]
    calls.append(f"%r{name} = func.call @case{number}({', '.join('%' + a for a in arguments)}) : ({types})"
                 f" -> {tensor(*seen_result)}")
    if not shown:
        return
    calls.append(f"%u{name} = tensor.cast %r{name} : {tensor(*seen_result)} to tensor<*x{element}>")
    calls.append(f"func.call @printMemref{element.upper()}(%u{name}) : (tensor<*x{element}>) -> ()")


def literal(shape, element, seed):
    """A dense constant of different numbers."""
    def fill(dims, at):
        if not dims:
            value = (at * 7 + seed * 5) % 23 - 11
            return f"{value}.0" if element[0] in "fb" else str(value)
        step = 1
        for size in dims[1:]:
            step *= size
        return "[" + ", ".join(fill(dims[1:], at + i * step) for i in range(dims[0])) + "]"
    return f"dense<{fill(list(shape), 0)}>"


def matmul(m, n, k, element, **options):
    case("linalg.matmul ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([m, k], element), ([k, n], element)], ([m, n], RESULT[element]), **options)


def generic(maps, loops, body, operands, result, **options):
    acc = RESULT[operands[0][1]]
    case(f"linalg.generic {{{{indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}], "
         f"iterator_types = [{', '.join(chr(34) + l + chr(34) for l in loops)}]}}}} "
         f"ins({{0}}, {{1}} : {{t0}}, {{t1}}) outs({{2}} : {{t2}}) {{{{\n"
         f"  ^bb0(%a: {operands[0][1]}, %b: {operands[1][1]}, %c: {acc}):\n{body}\n  }}}}",
         operands, result, **options)


def product(left, right, acc, multiply="arith.muli", add="arith.addi", source="i8"):
    lines = [f"    %x = {left} %a : {source} to {acc}", f"    %y = {right} %b : {source} to {acc}",
             f"    %p = {multiply} %x, %y : {acc}", f"    %s = {add} %c, %p : {acc}",
             f"    linalg.yield %s : {acc}"]
    return "\n".join(lines)


SPECIAL = """  %first = arith.constant 0 : index
  %third = arith.constant 3 : index
  %isRow = arith.cmpi eq, %i0, %third : index
  %isColumn = arith.cmpi eq, %i1, %first : index
  %inf = arith.constant 0x7F800000 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %here = arith.andi %isRow, %isColumn : i1
  %isOther = arith.cmpi eq, %i0, %first : index
  %there = arith.andi %isOther, %isColumn : i1
  %q = arith.select %here, %inf, %v : f32
  %u = arith.select %there, %nan, %q : f32"""

RELU = """%bias = arith.constant dense<[1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 9.0, -10.0, 11.0, -12.0, 13.0, -14.0, 15.0, -16.0, 17.0, -18.0, 19.0]> : tensor<19xf32>
%to = tensor.empty() : {t}
%biased = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}} ins(%sum, %bias : {t}, tensor<19xf32>) outs(%to : {t}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> {t}
%tail = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}} ins(%biased : {t}) outs(%to : {t}) {{
  ^bb0(%a: f32, %c: f32):
    %none = arith.constant 0.0 : f32
    %s = arith.maximumf %a, %none : f32
    linalg.yield %s : f32
  }} -> {t}"""


def forms(element):
    acc = RESULT[element]
    matmul(29, 45, 70, element)
    matmul(1, 33, 9, element)
    matmul(31, 3, 11, element)               # few columns
    matmul(45, 129, 67, element)             # one column more than full panels
    matmul(30, 40, 24, element, hide=True)   # dynamic
    matmul(17, 35, 13, element, constants=(1,))
    matmul(9, 20, 14, element, constants=(0,))
    # With an accumulator; batched; transposed; one dimension.
    case("linalg.matmul ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([16, 11], element), ([11, 18], element), ([16, 18], acc)], ([16, 18], acc))
    case("linalg.batch_matmul ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([3, 15, 10], element), ([3, 10, 17], element)], ([3, 15, 17], acc))
    case("linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, "
         "affine_map<(m, n, k) -> (m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([13, 30], element), ([13, 34], element)], ([30, 34], acc))
    case("linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, "
         "affine_map<(m, n, k) -> (m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([30, 39], element), ([34, 39], element)], ([30, 34], acc))
    case("linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (b, n, k)>, "
         "affine_map<(b, m, n, k) -> (b, m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([2, 9, 16], element), ([2, 33, 9], element)], ([2, 16, 33], acc))
    # Batch elements large enough for calls; two batch dimensions, in the result's order only.
    case("linalg.batch_matmul ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([3, 40, 20], element), ([3, 20, 37], element)], ([3, 40, 37], acc))
    case("linalg.contract indexing_maps = [affine_map<(x, y, m, n, k) -> (y, m, x, k)>, affine_map<(x, y, m, n, k) -> (x, n, y, k)>, "
         "affine_map<(x, y, m, n, k) -> (x, y, m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([3, 14, 2, 21], element), ([2, 37, 3, 21], element)], ([2, 3, 14, 37], acc))
    case("linalg.contract indexing_maps = [affine_map<(n, k, m) -> (k, m)>, affine_map<(n, k, m) -> (k, n)>, "
         "affine_map<(n, k, m) -> (n, m)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([12, 30], element), ([12, 34], element)], ([34, 30], acc))
    case("linalg.matvec ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([40, 11], element), ([11], element)], ([40], acc))
    case("linalg.vecmat ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([11], element), ([11, 40], element)], ([40], acc))
    case("linalg.batch_matvec ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([2, 19, 9], element), ([2, 9], element)], ([2, 19], acc))
    case("linalg.batch_vecmat ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([2, 9], element), ([2, 9, 19], element)], ([2, 19], acc))


def floats():
    # A transposed result.
    generic(["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (n, m)"],
            ["parallel", "parallel", "reduction"],
            "    %p = arith.mulf %b, %a : f32\n    %s = arith.addf %p, %c : f32\n    linalg.yield %s : f32",
            [([20, 11], "f32"), ([11, 36], "f32")], ([36, 20], "f32"))
    matmul(16, 20, 16, "f32", special=SPECIAL)
    matmul(33, 19, 12, "f32", tail=RELU)
    matmul(5, 7, 6, "f64")
    # One row for all of the result, and one number for all of an operand.
    case("linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (k, n)>, "
         "affine_map<(m, n, k) -> (m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([8], "f32"), ([8, 16], "f32"), ([4, 16], "f32")], ([4, 16], "f32"))
    case("linalg.generic {{indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> ()>, affine_map<(m, k) -> (m)>], "
         "iterator_types = [\"parallel\", \"reduction\"]}} ins({0}, %half : {t0}, f32) outs({1} : {t1}) {{\n"
         "  ^bb0(%a: f32, %b: f32, %c: f32):\n    %p = arith.mulf %a, %b : f32\n    %s = arith.addf %p, %c : f32\n"
         "    linalg.yield %s : f32\n  }}", [([9, 12], "f32"), ([9], "f32")], ([9], "f32"))
    functions[-1].insert(1, "  %half = arith.constant 0.5 : f32")


def integers():
    # Bytes, with and without signs.
    for left in ("arith.extsi", "arith.extui"):
        for right in ("arith.extsi", "arith.extui"):
            generic(["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"],
                    ["parallel", "parallel", "reduction"], product(left, right, "i32"),
                    [([15, 22], "i8"), ([22, 19], "i8")], ([15, 19], "i32"))
    case("linalg.matmul {{cast = #linalg.type_fn<cast_unsigned>}} ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([15, 22], "i8"), ([22, 19], "i8")], ([15, 19], "i32"))
    # Zero points.
    for name, batch in (("quantized_matmul", []), ("quantized_batch_matmul", [2])):
        for lhs, rhs in ((0, 0), (7, 0), (0, -5), (100, -128)):
            case(f"linalg.{name} ins({{0}}, {{1}}, %lz, %rz : {{t0}}, {{t1}}, i32, i32) outs({{2}} : {{t2}})",
                 [(batch + [15, 22], "i8"), (batch + [22, 19], "i8")], (batch + [15, 19], "i32"))
            functions[-1].insert(1, f"  %lz = arith.constant {lhs} : i32")
            functions[-1].insert(1, f"  %rz = arith.constant {rhs} : i32")


# M, N, K: nothing, one, a few, a tile and one more or less, several tiles, odd.
SIZES = [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0), (1, 1, 1), (1, 33, 9), (33, 1, 9), (4, 17, 2), (13, 31, 1), (14, 32, 4), (15, 33, 5),
         (3, 100, 64), (57, 129, 65)]


# So long that K is divided among threads.
LONG = (33, 40, 2000)


def dynamic_forms(element):
    """One function each, called with all sizes."""
    acc = RESULT[element]
    long = [LONG] * (element == "f32")
    m, n, k = 29, 45, 70
    operation = "ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})"
    case("linalg.matmul " + operation, [([m, k], element), ([k, n], element)], ([m, n], acc), hide=True,
         also=[[[a, c], [c, b]] for a, b, c in SIZES + long])
    case("linalg.matmul " + operation, [([m, k], element), ([k, n], element), ([m, n], acc)], ([m, n], acc), hide=True,
         also=[[[a, c], [c, b], [a, b]] for a, b, c in SIZES + long])
    for sizes in long:
        matmul(*sizes, element)
    case("linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, "
         "affine_map<(m, n, k) -> (m, n)>] " + operation, [([k, m], element), ([n, k], element)], ([m, n], acc), hide=True,
         sizes=[(0, 1), (1, 0)], also=[[[c, a], [b, c]] for a, b, c in SIZES])
    case("linalg.batch_matmul " + operation, [([2, m, k], element), ([2, k, n], element)], ([2, m, n], acc), hide=True,
         sizes=[(0, 0), (0, 1), (1, 2)], also=[[[i % 3, a, c], [i % 3, c, b]] for i, (a, b, c) in enumerate(SIZES)])
    case("linalg.matvec " + operation, [([m, k], element), ([k], element)], ([m], acc), hide=True,
         sizes=[(0, 0)], also=[[[a, c], [c]] for a, _, c in SIZES])
    case("linalg.vecmat " + operation, [([k], element), ([k, n], element)], ([n], acc), hide=True,
         sizes=[(1, 1)], also=[[[c], [c, b]] for _, b, c in SIZES])
    # A dynamic number of rows, times weights.
    case("linalg.matmul " + operation, [([m, 40], element), ([40, 24], element)], ([m, 24], acc), hide=True, constants=(1,),
         also=[[[a, 40], None] for a, _, _ in SIZES])
    if element == "i8":
        case("linalg.quantized_matmul ins({0}, {1}, %lz, %rz : {t0}, {t1}, i32, i32) outs({2} : {t2})",
             [([m, k], "i8"), ([k, n], "i8")], ([m, n], "i32"), hide=True, also=[[[a, c], [c, b]] for a, b, c in SIZES])
        functions[-1].insert(1, "  %lz = arith.constant 100 : i32\n  %rz = arith.constant -128 : i32")


def transposed_forms(element):
    """Packed by interleaving, in panels of as many rows as there are."""
    acc = RESULT[element]
    for m in (1, 2, 3, 5, 7, 9, 11, 13, 17, 18, 19, 25, 27):
        case("linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, "
             "affine_map<(m, n, k) -> (m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
             [([7, m], element), ([7, 20], element)], ([m, 20], acc))
    case("linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (k, b, m)>, affine_map<(b, m, n, k) -> (k, n, b)>, "
         "affine_map<(b, m, n, k) -> (b, m, n)>] ins({0}, {1} : {t0}, {t1}) outs({2} : {t2})",
         [([19, 3, 17], element), ([19, 18, 3], element)], ([3, 17, 18], acc))


def convolution(name, image, filters, result, element, strides=(), dilations=()):
    def attribute(key, values):
        return f"{key} = dense<[{', '.join(map(str, values))}]> : tensor<{len(values)}xi64>" if values else ""
    settings = ", ".join(filter(None, (attribute("strides", strides), attribute("dilations", dilations))))
    case(f"linalg.{name} {{{{{settings}}}}} ins({{0}}, {{1}} : {{t0}}, {{t1}}) outs({{2}} : {{t2}})",
         [(image, element), (filters, element), (result, RESULT[element])], (result, RESULT[element]))


def convolution_forms(element):
    """Both orders of channels, strides, dilations, groups, filters of one element, several batches, and patches that fill more than a
    block of rows."""
    for n, c, h, w, f, a, b, s, d in ((1, 3, 9, 10, 5, 3, 3, 1, 1), (2, 4, 11, 9, 7, 3, 2, 2, 1), (1, 5, 12, 13, 3, 3, 3, 2, 2),
                                      (3, 8, 6, 7, 9, 1, 1, 1, 1), (2, 3, 8, 8, 4, 1, 1, 2, 1), (1, 64, 33, 34, 8, 3, 3, 1, 1)):
        oh, ow = (h - d * (a - 1) - 1) // s + 1, (w - d * (b - 1) - 1) // s + 1
        steps = {"strides": (s, s), "dilations": (d, d)}
        convolution("conv_2d_nchw_fchw", [n, c, h, w], [f, c, a, b], [n, f, oh, ow], element, **steps)
        convolution("conv_2d_nhwc_hwcf", [n, h, w, c], [a, b, c, f], [n, oh, ow, f], element, **steps)
        convolution("conv_2d_nhwc_fhwc", [n, h, w, c], [f, a, b, c], [n, oh, ow, f], element, **steps)
        convolution("conv_2d_ngchw_gfchw", [n, 2, c, h, w], [2, f, c, a, b], [n, 2, f, oh, ow], element, **steps)
        convolution("depthwise_conv_2d_nchw_chw", [n, c, h, w], [c, a, b], [n, c, oh, ow], element, **steps)
        convolution("depthwise_conv_2d_nhwc_hwc", [n, h, w, c], [a, b, c], [n, oh, ow, c], element, **steps)
        convolution("conv_1d_ncw_fcw", [n, c, w], [f, c, b], [n, f, ow], element, strides=(s,), dilations=(d,))
        convolution("conv_1d_nwc_wcf", [n, w, c], [b, c, f], [n, ow, f], element, strides=(s,), dilations=(d,))
    convolution("conv_2d", [9, 10], [3, 2], [7, 9], element)
    convolution("conv_3d_ndhwc_dhwcf", [1, 5, 6, 7, 3], [2, 3, 2, 3, 4], [1, 4, 4, 6, 4], element, (1, 1, 1), (1, 1, 1))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["convolutions"]:
        for element in arguments[1:]:
            convolution_forms(element)
        arguments = []
    if arguments[:1] == ["transposed"]:
        for element in arguments[1:]:
            transposed_forms(element)
        arguments = []
    if arguments[:1] == ["sizes"]:
        for element in arguments[1:]:
            dynamic_forms(element)
        arguments = []
    for element in arguments:
        forms(element)
        if element == "f32":
            floats()
        elif element == "i8":
            integers()
    for element in ("f32", "f64", "i32"):
        print(f"func.func private @printMemref{element.upper()}(tensor<*x{element}>)")
    for function in functions:
        print("\n".join(function))
    print("func.func @main() {")
    print("\n".join("  " + line for line in calls))
    print("  return\n}")


main()
