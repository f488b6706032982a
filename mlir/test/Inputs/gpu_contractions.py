#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices for kdl-lower-mmt4d-to-ukernels with a GPU as target, on small integers, which are exact on every device:

    gpu_contractions.py emit [NAME]... > program.mlir
    ./program | gpu_contractions.py check [NAME]...

With `emit-host`, operands stay in the host's memory, which the pass needs to know (host-memory).
"""

import re
import sys

# name: operands, result, rows, columns, K, and what else there is of `batch`, `transposed` (B), `dynamic`, `adds`, `scale`, `bias`,
# `residual`, `relu`, `kernel` (in a gpu.module) and `stream` (asynchronous).
CASES = {
    "plain": ("bf16", "f32", 70, 90, 33, set()),
    "aligned": ("bf16", "f32", 128, 64, 64, {"transposed"}),
    "linear": ("bf16", "f32", 65, 72, 40, {"bias", "relu"}),
    "narrow": ("bf16", "bf16", 40, 64, 40, {"bias", "residual", "relu", "transposed"}),
    "half": ("f16", "f16", 33, 48, 24, {"scale", "residual"}),
    "added": ("f16", "f32", 17, 19, 23, {"adds"}),
    "added_relu": ("bf16", "f32", 17, 19, 23, {"adds", "relu"}),
    "bytes": ("i8", "i32", 50, 60, 70, {"transposed"}),
    "scaled": ("i8", "f32", 20, 30, 40, {"scale", "bias"}),
    "batch": ("bf16", "f32", 20, 24, 16, {"batch", "residual"}),
    "dynamic": ("bf16", "f32", 31, 37, 41, {"dynamic", "bias"}),
    "kernel": ("bf16", "f32", 64, 128, 64, {"kernel", "bias", "relu"}),
    "stream": ("bf16", "f32", 48, 40, 72, {"kernel", "stream", "dynamic"}),
}
BATCH = 3
SCALE = 0.5



def shape_of(sizes, element, dynamic):
    return f"memref<{'x'.join('?' if dynamic else str(size) for size in sizes)}x{element}>"


def value(which, i):
    """Of the element at linear place i."""
    times, modulus, minus = {"a": (3, 7, 3), "b": (2, 5, 2), "bias": (1, 4, 1), "residual": (5, 3, 1), "c": (1, 6, 2)}[which]
    return (times * i) % modulus - minus


class Function:
    def __init__(self, name, case):
        self.name = name
        self.element, self.result, self.m, self.n, self.k, self.has = case
        self.batch = [BATCH] if "batch" in self.has else []
        self.sums = "i32" if self.element == "i8" else "f32"
        self.tail = bool(self.has & {"scale", "bias", "residual", "relu"}) or self.sums != self.result

    def sizes(self):
        """Of all operands: names with sizes and elements."""
        b = [self.n, self.k] if "transposed" in self.has else [self.k, self.n]
        found = {"a": (self.batch + [self.m, self.k], self.element), "b": (self.batch + b, self.element)}
        if "bias" in self.has:
            found["bias"] = ([self.n], "f32")
        if "residual" in self.has:
            found["residual"] = (self.batch + [self.m, self.n], self.result)
        found["c"] = (self.batch + [self.m, self.n], self.result)
        return found

    def type(self, which):
        sizes, element = self.sizes()[which]
        return shape_of(sizes, element, "dynamic" in self.has)

    def body(self):
        lines = [f"%zero = arith.constant {'0' if self.sums == 'i32' else '0.0'} : {self.sums}"]
        sums, sums_type = "%c", self.type("c")
        if self.sums != self.result:
            sums, sums_type = "%sums", shape_of(self.sizes()["c"][0], self.sums, False)
            lines.append(f"%sums = memref.alloc() : {sums_type}")
        if "adds" not in self.has:
            lines.append(f"linalg.fill ins(%zero : {self.sums}) outs({sums} : {sums_type})")
        loops = "b, i, j, k" if self.batch else "i, j, k"
        first = "b, " if self.batch else ""
        b = f"({first}j, k)" if "transposed" in self.has else f"({first}k, j)"
        maps = ", ".join(f"affine_map<({loops}) -> {operand}>" for operand in (f"({first}i, k)", b, f"({first}i, j)"))
        operation = "linalg.batch_matmul" if self.batch else "linalg.matmul"
        lines.append(f"{operation} indexing_maps = [{maps}] ins(%a, %b : {self.type('a')}, {self.type('b')}) outs({sums} : {sums_type})")
        if self.tail:
            lines += self.tail_lines(sums, sums_type)
        if sums == "%sums":
            lines.append(f"memref.dealloc %sums : {sums_type}")
        return "\n".join("  " + line for line in lines)

    def tail_lines(self, sums, sums_type):
        loops = "b, i, j" if self.batch else "i, j"
        same = f"affine_map<({loops}) -> ({loops})>"
        inputs = [("%sum", sums, sums_type, self.sums, same)] if sums == "%sums" else []
        if "bias" in self.has:
            inputs.append(("%add", "%bias", self.type("bias"), "f32", f"affine_map<({loops}) -> (j)>"))
        if "residual" in self.has:
            inputs.append(("%rest", "%residual", self.type("residual"), self.result, same))
        out = "%old" if sums == "%sums" else "%sum"
        steps, now = [], "%sum"

        def step(text):
            nonlocal now
            now = f"%v{len(steps)}"
            steps.append(f"  {now} = {text}")

        if self.sums == "i32":
            step(f"arith.sitofp {now} : i32 to f32")
        if "scale" in self.has:
            step(f"arith.mulf {now}, %scale : f32")
        if "bias" in self.has:
            step(f"arith.addf {now}, %add : f32")
        if "residual" in self.has:
            rest, before = "%rest", now
            if self.result != "f32":
                step(f"arith.extf %rest : {self.result} to f32")
                rest = now
            step(f"arith.addf {before}, {rest} : f32")
        if "relu" in self.has:
            step(f"arith.maximumf {now}, %nothing : f32")
        if self.result not in ("f32", "i32"):
            step(f"arith.truncf {now} : f32 to {self.result}")
        arguments = ", ".join(f"{name}: {element}" for name, _, _, element, _ in inputs) + (", " if inputs else "") + f"{out}: {self.result}"
        maps = ", ".join([row[4] for row in inputs] + [same])
        kinds = ", ".join(['"parallel"'] * len(loops.split(",")))
        ins = f"ins({', '.join(row[1] for row in inputs)} : {', '.join(row[2] for row in inputs)}) " if inputs else ""
        return ([f"%scale = arith.constant {SCALE} : f32", "%nothing = arith.constant 0.0 : f32",
                 f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins}outs(%c : {self.type('c')}) {{",
                 f"^bb0({arguments}):"] + steps + [f"  linalg.yield {now} : {self.result}", "}"])

    def function(self):
        arguments = ", ".join(f"%{name}: {self.type(name)}" for name in self.sizes())
        if "kernel" not in self.has:
            return f"func.func @{self.name}({arguments}) {{\n{self.body()}\n  return\n}}\n"
        kernel = f"gpu.module @{self.name}_kernels {{\n gpu.func @{self.name}({arguments}) kernel {{\n{self.body()}\n  gpu.return\n }}\n}}\n"
        launch = f"@{self.name}_kernels::@{self.name} blocks in (%one, %one, %one) threads in (%one, %one, %one) args("
        launch += ", ".join(f"%{name} : {self.type(name)}" for name in self.sizes()) + ")"
        lines = ["%one = arith.constant 1 : index"]
        if "stream" in self.has:
            lines += ["%start = gpu.wait async", f"%done = gpu.launch_func async [%start] {launch}", "gpu.wait [%done]"]
        else:
            lines.append(f"gpu.launch_func {launch}")
        body = "\n".join("  " + line for line in lines)
        return f"{kernel}func.func @{self.name}({arguments}) {{\n{body}\n  return\n}}\n"

    def run(self, on_host):
        """Fills operands on the host, copies them, calls the function, and prints the result as f32."""
        lines, passed, place = [], [], "h" if on_host else "d"
        for name, (sizes, element) in self.sizes().items():
            static, count = shape_of(sizes, element, False), len(sizes)
            loops = ", ".join(f"d{i}" for i in range(count))
            kinds = ", ".join(['"parallel"'] * count)
            times, modulus, minus = {"a": (3, 7, 3), "b": (2, 5, 2), "bias": (1, 4, 1), "residual": (5, 3, 1), "c": (1, 6, 2)}[name]
            lines += [f"%h_{name} = memref.alloc() : {static}",
                      f"linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>], iterator_types = [{kinds}]}} outs(%h_{name} : {static}) {{",
                      f"^bb0(%old: {element}):", "  %p0 = linalg.index 0 : index"]
            for i in range(1, count):
                lines += [f"  %i{i} = linalg.index {i} : index", f"  %s{i} = arith.constant {sizes[i]} : index",
                          f"  %m{i} = arith.muli %p{i - 1}, %s{i} : index", f"  %p{i} = arith.addi %m{i}, %i{i} : index"]
            lines += [f"  %times = arith.constant {times} : index", f"  %of = arith.constant {modulus} : index", f"  %less = arith.constant {minus} : i32",
                      f"  %q = arith.muli %p{count - 1}, %times : index", "  %r = arith.remui %q, %of : index",
                      "  %w = arith.index_cast %r : index to i32", "  %v = arith.subi %w, %less : i32"]
            if element == "i8":
                lines.append("  %x = arith.trunci %v : i32 to i8")
            elif element != "i32":
                lines.append(f"  %x = arith.sitofp %v : i32 to {element}")
            lines += [f"  linalg.yield {'%v' if element == 'i32' else '%x'} : {element}", "}"]
            if not on_host:
                lines += [f"%d_{name} = gpu.alloc() : {static}", f"gpu.memcpy %d_{name}, %h_{name} : {static}, {static}"]
            if "dynamic" in self.has:
                lines.append(f"%y_{name} = memref.cast %{place}_{name} : {static} to {self.type(name)}")
            passed.append(f"%{'y' if 'dynamic' in self.has else place}_{name}")
        sizes, element = self.sizes()["c"]
        static, wide = shape_of(sizes, element, False), shape_of(sizes, "f32", False)
        loops = ", ".join(f"d{i}" for i in range(len(sizes)))
        kinds = ", ".join(['"parallel"'] * len(sizes))
        types = ", ".join(self.type(name) for name in self.sizes())
        lines.append(f"call @{self.name}({', '.join(passed)}) : ({types}) -> ()")
        if not on_host:
            lines.append(f"gpu.memcpy %h_c, %d_c : {static}, {static}")
        lines += [f"%wide = memref.alloc() : {wide}",
                  f"linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({loops})>], iterator_types = [{kinds}]}} "
                  f"ins(%h_c : {static}) outs(%wide : {wide}) {{", f"^bb0(%x: {element}, %old: f32):"]
        if element == "f32":
            lines.append("  linalg.yield %x : f32")
        else:
            lines += [f"  %v = arith.{'sitofp' if element == 'i32' else 'extf'} %x : {element} to f32", "  linalg.yield %v : f32"]
        lines += ["}", f"%any = memref.cast %wide : {wide} to memref<*xf32>", "call @printMemrefF32(%any) : (memref<*xf32>) -> ()", "return"]
        body = "\n".join("  " + line for line in lines)
        return f"func.func @run_{self.name}() {{\n{body}\n}}\n"

    def expected(self):
        found = []
        for batch in range(BATCH if self.batch else 1):
            a, b, c = batch * self.m * self.k, batch * self.k * self.n, batch * self.m * self.n
            for i in range(self.m):
                for j in range(self.n):
                    at = c + i * self.n + j
                    total = sum(value("a", a + i * self.k + k) *
                                value("b", b + (j * self.k + k if "transposed" in self.has else k * self.n + j)) for k in range(self.k))
                    total *= SCALE if "scale" in self.has else 1
                    total += value("bias", j) if "bias" in self.has else 0
                    total += value("residual", at) if "residual" in self.has else 0
                    total += value("c", at) if "adds" in self.has else 0
                    found.append(max(total, 0) if "relu" in self.has else total)
        return found


def emit(functions, on_host):
    print("module attributes {gpu.container_module} {\nfunc.func private @printMemrefF32(memref<*xf32>)")
    for function in functions:
        print(function.function() + function.run(on_host))
    print("func.func @main() {")
    for function in functions:
        print(f"  call @run_{function.name}() : () -> ()")
    print("  return\n}\n}")


def check(functions):
    parts = re.split(r"Unranked Memref.*data = ", sys.stdin.read())[1:]
    if len(parts) != len(functions):
        sys.exit(f"FAILED: found {len(parts)} results, expected {len(functions)}")
    for function, text in zip(functions, parts):
        found = [float(number) for number in re.findall(r"-?[\d.]+(?:e[+-]?\d+)?", text)]
        wrong = [(i, a, b) for i, (a, b) in enumerate(zip(found, function.expected())) if a != b]
        if wrong or len(found) != len(function.expected()):
            sys.exit(f"FAILED: {function.name}: {len(found)} numbers, {len(wrong)} wrong: {wrong[:4]}")
        print(f"{function.name}: {len(found)} numbers as expected")


if __name__ == "__main__":
    chosen = sys.argv[2:] or list(CASES)
    all_functions = [Function(name, CASES[name]) for name in chosen]
    check(all_functions) if sys.argv[1] == "check" else emit(all_functions, sys.argv[1] == "emit-host")
