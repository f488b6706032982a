# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the programs of pipeline.txt: compiles the kernel of pipeline.mlir by MLIR, once for each image of a program, and the host's code.

    pipeline.py TOOLS TOOLKIT PACKAGER

TOOLS has the mlir-opt and mlir-translate of the series, TOOLKIT ptxas and fatbinary, PACKAGER is llvm-offload-binary. All images of a program but
the last are compiled beforehand and become #gpu.compiled targets of the module that is compiled last. A program with a key gets another container.
"""
import re
import subprocess
import sys

tools, toolkit, packager = sys.argv[1:]
text = open("pipeline.mlir").read()
HOST = "builtin.module(convert-scf-to-cf,gpu-to-llvm{use-bare-pointers-for-kernels=true},convert-to-llvm,reconcile-unrealized-casts)"


def device(kind):
    return f"builtin.module(gpu.module(convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv=true}},reconcile-unrealized-casts),gpu-module-to-binary{{format={kind} toolkit={toolkit}}})"


def run(name, pipeline, source):
    return subprocess.run([f"{tools}/mlir-opt", "-", f"--pass-pipeline={pipeline}"], input=source, check=True, stdout=subprocess.PIPE, text=True).stdout


def module(handler, targets, factor, host=""):
    return text.replace("HANDLER", handler).replace("TARGETS", ", ".join(targets)).replace("FACTOR", str(factor)).replace("// HOST", host)


def target(chip):
    return f'#nvvm.target<chip = "{chip}">'


def compiled(image):
    """The object of CHIP:FACTOR, of host:FACTOR or of LENGTH bytes that are no image."""
    chip, value = image.split(":")
    if chip == "bytes":
        return f'#gpu.object<{target("sm_90")}, bin = "{"x" * int(value)}">'
    if chip == "host":
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", f"-DFACTOR={value}", "pipeline.c", "-o", "host.so"], check=True)
        data = "".join(f"\\{byte:02X}" for byte in open("host.so", "rb").read())
        return f'#gpu.object<#nvvm.target<triple = "x86_64-unknown-linux-gnu", chip = "x86-64">, bin = "{data}">'
    binary = run(image, device("bin"), module("", [target(chip)], value))
    return re.search(r"gpu.binary @kernels +\[(#gpu.object<.*>)\]$", binary, re.MULTILINE).group(1)


def decode(literal):
    return re.sub(rb'\\([0-9A-Fa-f]{2}|.)', lambda m: bytes([int(m[1], 16)]) if len(m[1]) == 2 else m[1], literal.encode("latin-1"))


for line in open("pipeline.txt"):
    if not line.strip() or line.startswith("#"):
        continue
    name, _, form, *images = line.split()
    host = "%second = arith.constant 1 : i32\n    gpu.set_default_device %second" if form == "second" else ""
    kind = "fatbin" if form == "fatbin" else "bin"
    if form == "one":  # one module with several targets
        source = module("<#gpu.runtime_select>", [target(image.split(":")[0]) for image in images], images[0].split(":")[1])
    else:
        last = max(i for i, image in enumerate(images) if image.startswith("sm_") or len(images) == 1)
        targets = [target(image.split(":")[0]) if i == last else f"#gpu.compiled<{compiled(image)}>" for i, image in enumerate(images)]
        source = module("<#gpu.runtime_select>", targets, images[last].split(":")[1], host)
    binary = run(name, device(kind), source)
    llvm = subprocess.run([f"{tools}/mlir-translate", "--mlir-to-llvmir", "-"], input=run(name, HOST, binary), check=True, stdout=subprocess.PIPE, text=True).stdout
    if form in ("key", "nokey"):
        arguments = []
        for i, image in enumerate(images):
            with open(f"{name}.{i}", "wb") as file:
                file.write(decode(re.search(r'bin = "(.*)">$', compiled(image)).group(1)))
            chip = image.split(":")[0]
            key = ",variant_priority=10" if form == "key" and i == len(images) - 1 else ""
            arguments.append(f"--image=file={name}.{i},triple=nvptx64-nvidia-cuda,arch={chip}{key}")
        subprocess.run([packager, "-o", f"{name}.bin", *arguments], check=True)
        data = open(f"{name}.bin", "rb").read()
        size = re.search(r"@kernels_binary = internal constant \[(\d+) x i8\]", llvm).group(1)
        llvm = re.sub(r'(@kernels_binary = internal constant) \[\d+ x i8\] c"[^"]*"',
                      lambda m: f'{m[1]} [{len(data)} x i8] c"' + "".join(f"\\{byte:02X}" for byte in data) + '"', llvm)
        llvm = llvm.replace(f"@kernels_binary, i64 {size})", f"@kernels_binary, i64 {len(data)})")
    open(f"{name}.ll", "w").write(llvm)
    print(f"made {name}", flush=True)
