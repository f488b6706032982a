#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what libkdl's readers say of images that kdl cc makes with what a vendor's tool says.

    vendor_tools.py ocloc --kdl KDL --read READ_IMAGE --work FOLDER        Intel's offline compiler: SPIR-V to zebins, .ze_info
    vendor_tools.py cuobjdump ...                                          NVIDIA's cuobjdump and nvdisasm: cubins

The tools are looked for on PATH, or --tool names one. Every target that they know is tried unless --few. Returns 77 where a tool is missing.
ocloc is in Debian 12's intel-opencl-icd; scripts/cuda-tools.sh fetches cuobjdump and nvdisasm.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KERNELS = ["saxpy", "reduce", "softmax", "layernorm", "histogram", "matmul", "matmul_tiled"]


def run(*command, check=True, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace", **more)
    if check and done.returncode:
        sys.exit(f"FAIL: {' '.join(command)}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def find(tool, given=None):
    path = given or shutil.which(tool)
    if not path:
        print(f"skipped: {tool} not found ({__doc__.strip().splitlines()[-1]})")
        sys.exit(77)
    return path


def ours(read, path):
    """(target, {kernel: (block, {index: (kind, size, offset)})}) of libkdl."""
    target, kernels, params = None, {}, None
    for line in run(read, path).stdout.splitlines():
        words = line.split()
        if words[0] == "target":
            target = words[2]
        elif words[0] == "kernel":
            params = {}
            kernels[" ".join(words[1:-3])] = (tuple(map(int, words[-3:])), params)
        elif words[0] == "param":
            params[int(words[1])] = (words[2], int(words[3]), None if words[4] == "-" else int(words[4]))
        else:
            sys.exit(f"FAIL: {path}: {line}")
    return target, kernels


class Count:
    def __init__(self):
        self.targets, self.images, self.kernels, self.params, self.wrong = [], 0, 0, 0, 0

    def same(self, where, theirs, found):
        if theirs != found:
            print(f"FAIL: {where}: the tool says {theirs}, libkdl {found}")
            self.wrong += 1


# ------------------------------------------------------------------------------------------------
# Intel

def ze_info(path, work):
    """{kernel: (block, {index: (is pointer, is group memory, sizes)})} of a zebin, by a walk over the lines."""
    text = os.path.join(work, "ze_info")
    run(shutil.which("llvm-objcopy-22") or "llvm-objcopy", "--dump-section", f".ze_info={text}", path, os.devnull)
    kernels, top, kernel, section, entry = {}, None, None, None, {}

    def close():
        if kernel is not None and section == "payload_arguments" and entry.get("arg_type") in ("arg_bypointer", "arg_byvalue"):
            pointer, group, sizes = kernels[kernel][1].setdefault(int(entry["arg_index"]), [False, False, []])
            is_pointer = entry["arg_type"] == "arg_bypointer" and entry.get("addrspace") in ("global", "constant", "local")
            if entry["arg_type"] == "arg_bypointer" and not is_pointer:
                entry["size"] = 0  # an image or a sampler
            kernels[kernel][1][int(entry["arg_index"])] = [pointer or is_pointer, group or entry.get("addrspace") == "local", sizes + [int(entry["size"])]]

    with open(text, encoding="utf-8", errors="replace") as file:
        for line in file.read().replace("\0", "").splitlines():
            part = re.match(r"( *)(- )?([\w]+): *(.*)$", line)
            if not part:
                continue
            indent, dash, key, value = len(part[1]), part[2], part[3], part[4].strip("'\" ")
            if indent == 0:
                close()
                top, kernel, section, entry = key, None, None, {}
            elif top == "kernels" and indent == 2 and dash and key == "name":
                close()
                kernel, section, entry = value, None, {}
                kernels[kernel] = [(0, 0, 0), {}]
            elif kernel is not None and indent == 4 and not dash:
                close()
                section, entry = key, {}
            elif kernel is not None and dash:
                close()
                entry = {key: value}
            elif kernel is not None:
                entry[key] = value
                if section == "execution_env" and key == "required_work_group_size":
                    kernels[kernel][0] = tuple(int(n) for n in re.findall(r"\d+", value))
    close()
    return {name: (block, params) for name, (block, params) in kernels.items() if name != "Intel_Symbol_Table_Void_Program"}


def compare_zebin(count, where, path, options):
    theirs = ze_info(path, options.work)
    _, found = ours(options.read, path)
    count.same(f"{where}: kernels", sorted(theirs), sorted(found))
    for name, (block, params) in theirs.items():
        our_block, our_params = found.get(name, ((), {}))
        count.same(f"{where}: {name}: block", block, our_block)
        for index, (pointer, group, sizes) in params.items():
            kind, size, _ = our_params.get(index, ("none", 0, None))
            count.same(f"{where}: {name}: parameter {index}: group memory", group, kind == "group")
            if not group:
                count.same(f"{where}: {name}: parameter {index}: pointer", pointer, kind == "pointer")
                # What is no number or vector is a structure, of which the zebin tells what the kernel uses.
                told = 8 if pointer else sizes[0] if len(sizes) == 1 and sizes[0].bit_count() == 1 else 0
                count.same(f"{where}: {name}: parameter {index}: size", told, size)
            count.params += 1
        count.kernels += 1
    count.images += 1


def with_ocloc(options):
    ocloc = find("ocloc", options.tool)
    count, refused = Count(), []
    words = run(ocloc, "compile", "--help", check=False).stdout
    devices = re.search(r"<device_type> can be: (.*?)(?:, version| or )", words, re.DOTALL)[1].replace("\n", " ").split(",")
    families = {"gen8", "gen9", "gen11", "gen12lp", "xe", "xe-hp", "xe-hpg", "xe-hpc"}
    devices = [d.strip() for d in devices if d.strip() and d.strip() not in families]
    sources = [(k, f"{SOURCE}/examples/kernels/{k}.c") for k in (KERNELS[:2] if options.few else KERNELS)]
    spirv = {"launch": f"{SOURCE}/tests/golden/launch/spirv64.spv", "params": f"{SOURCE}/tests/golden/images/params.spv",
             "fixed": f"{SOURCE}/tests/golden/launch/fixed.spv", "group": f"{SOURCE}/tests/golden/launch/group.spv"}
    for name, source in sources:
        run(options.kdl, "cc", source, "--targets=spirv64", "-o", f"{options.work}/{name}.offload")
        spirv[name] = f"{options.work}/{name}.spv"
        run(options.kdl, "extract", f"{options.work}/{name}.offload", "--image=0", "-o", spirv[name])
    for device in devices[-2:] if options.few else devices:
        for name, path in spirv.items():
            zebin = f"{options.work}/{device}.{name}.zebin"
            done = run(ocloc, "compile", "-file", path, "-spirv_input", "-device", device, "-output", zebin, "-output_no_suffix", "-exclude_ir",
                       "--format", "zebin", check=False)
            if done.returncode or not os.path.exists(zebin):
                refused.append((device, name, (re.findall(r"(?i)error.*", done.stdout + done.stderr) or ["no reason"])[0]))
                continue
            with open(zebin, "rb") as file:
                machine = file.read(20)[16:20]
            if machine[:2] != b"\x0c\xff" and machine[2:] != b"\xcd\x00":
                refused.append((device, name, f"no zebin: ELF type and machine {machine.hex()}"))
                continue
            compare_zebin(count, f"{device} {name}", zebin, options)
            count.targets += [device] if device not in count.targets else []
    for device, name, why in refused:
        print(f"not compiled: {device} {name}: {why}")
    return count


# ------------------------------------------------------------------------------------------------
# NVIDIA

def cubin_info(cuobjdump, path):
    """{kernel: {index: (size, offset)}} by cuobjdump, which names the section before its attributes."""
    kernels, kernel = {}, None
    usage = run(cuobjdump, "--dump-resource-usage", path).stdout
    for name in re.findall(r"Function (\S+):", usage):
        kernels[name] = {}
    for line in run(cuobjdump, "-elf", path).stdout.splitlines():
        section = re.match(r"\.nv\.info\.(\S+)", line)
        if line.startswith("."):
            kernel = section[1] if section else None
        param = re.search(r"Ordinal : (0x[0-9a-f]+)\s+Offset +: (0x[0-9a-f]+)\s+Size +: (0x[0-9a-f]+)", line)
        if param and kernel in kernels:
            kernels[kernel][int(param[1], 16)] = (int(param[3], 16), int(param[2], 16))
    return kernels, dict(re.findall(r"Function (\S+):\n\s+REG:(\d+)", usage))


def with_cuobjdump(options):
    cuobjdump, nvdisasm, ptxas = find("cuobjdump", options.tool), find("nvdisasm", options.disassembler), find("ptxas")
    count, refused = Count(), []
    known = run(ptxas, "--help").stdout
    targets = re.findall(r"'(sm_\d+[af]?)'", known)
    targets = list(dict.fromkeys(targets))
    sources = [(k, f"{SOURCE}/examples/kernels/{k}.c") for k in (KERNELS[:2] if options.few else KERNELS)]
    for target in ["sm_80", "sm_90"] if options.few else targets:
        for name, source in sources:
            made = run(options.kdl, "cc", source, f"--targets={target}", "-o", f"{options.work}/x.offload", check=False)
            if made.returncode:
                refused.append((target, name, made.stderr.strip().splitlines()[-1] if made.stderr.strip() else f"exit {made.returncode}"))
                continue
            cubin = f"{options.work}/{target}.{name}.cubin"
            run(options.kdl, "extract", f"{options.work}/x.offload", "--image=0", "-o", cubin)
            theirs, registers = cubin_info(cuobjdump, cubin)
            said, found = ours(options.read, cubin)
            count.same(f"{target} {name}: target", target, said)
            count.same(f"{target} {name}: kernels", sorted(theirs), sorted(found))
            for kernel, params in theirs.items():
                count.same(f"{target} {name}: {kernel}: parameters", params, {i: (size, offset) for i, (_, size, offset) in found.get(kernel, ((), {}))[1].items()})
                count.params += len(params)
                count.kernels += 1
                count.same(f"{target} {name}: {kernel}: registers are used", True, int(registers.get(kernel, 0)) > 0)
            text = run(nvdisasm, cubin).stdout
            count.same(f"{target} {name}: programs that end", True, text.count("EXIT") >= len(theirs))
            count.images += 1
            count.targets += [target] if target not in count.targets else []
    for target, name, why in refused:
        print(f"not compiled: {target} {name}: {why}")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", choices=("ocloc", "cuobjdump"))
    parser.add_argument("--kdl", required=True)
    parser.add_argument("--read", required=True, help="tests/interop/read_image.c, built")
    parser.add_argument("--work", required=True)
    parser.add_argument("--tool", help="ocloc or cuobjdump")
    parser.add_argument("--disassembler", help="nvdisasm")
    parser.add_argument("--few", action="store_true", help="two targets and two kernels")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    count = (with_ocloc if options.tools == "ocloc" else with_cuobjdump)(options)
    print(f"{len(count.targets)} targets ({' '.join(count.targets)}), {count.images} images, {count.kernels} kernels, {count.params} parameters: "
          f"{count.wrong} differences")
    sys.exit(1 if count.wrong or not count.images else 0)


if __name__ == "__main__":
    main()
