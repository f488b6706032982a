#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kdl ls` on the vendors' own libraries: every image is listed, no image byte is read, no driver is loaded.

The expected count comes from a walk of the sections written here, and for all but the largest, from cuobjdump where it is on PATH. That image bytes are not
read shows in the memory the command touches, which stays small beside files of hundreds of megabytes.

    real_libraries.py --kdl build/bin/kdl cuda|rocm
"""
import argparse
import glob
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile

CUDA_LIBRARIES = ["/usr/local/cuda/lib64/lib%s.so" % name for name in
                  ("cublasLt", "cublas", "cufft", "cusparse", "cusolver", "curand", "nccl", "cudnn_engines_precompiled")]
ROCM_LIBRARIES = glob.glob("/usr/lib/*/librocsparse.so.0.1") + glob.glob("/opt/rocm/lib/librocsparse.so")
MEMORY_LIMIT_KIB = 64 * 1024
CUOBJDUMP_MOST = 210 << 20  # it reads every byte
NAMED_SECTIONS = (" in .nv_fatbin", " in __nv_relfatbin", " in .hip_fatbin")


def sections(data):
    """Name, offset and size of each section of an ELF64 file."""
    table, = struct.unpack_from("<Q", data, 40)
    stride, count, names = struct.unpack_from("<HHH", data, 58)
    header = lambda i: struct.unpack_from("<IIQQQQ", data, table + i * stride)
    text = header(names)[4]
    for i in range(count):
        name, _, _, _, offset, size = header(i)
        yield data[text + name:data.find(b"\0", text + name)].decode(), offset, size


def count_fatbin(data, offset, size):
    count, end = 0, offset + size
    while offset + 16 <= end:
        magic, _, header, length = struct.unpack_from("<IHHQ", data, offset)
        if magic == 0:
            offset += 8
            continue
        assert magic == 0xBA55ED50, hex(magic)
        entry, stop = offset + header, offset + header + length
        while entry < stop:
            entry_header, = struct.unpack_from("<I", data, entry + 4)
            payload, = struct.unpack_from("<Q", data, entry + 8)
            entry += entry_header + payload
            count += 1
        offset = stop
    return count


def count_bundles(data, offset, size):
    count, end = 0, offset + size
    at = data.find(b"__CLANG_OFFLOAD_BUNDLE__", offset, end)
    while at >= 0:
        entries, = struct.unpack_from("<Q", data, at + 24)
        entry, last = at + 32, at
        for _ in range(entries):
            where, length, name = struct.unpack_from("<QQQ", data, entry)
            entry += 24 + name
            last = max(last, at + where + length)
            count += length > 0
        at = data.find(b"__CLANG_OFFLOAD_BUNDLE__", max(last, entry), end)
    return count


def expected_images(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        count = 0
        for name, offset, size in sections(data):
            if name in (".nv_fatbin", "__nv_relfatbin"):
                count += count_fatbin(data, offset, size)
            elif name == ".hip_fatbin":
                count += count_bundles(data, offset, size)
        return count


def cuobjdump_images(path):
    lines = 0
    for option in ("--list-elf", "--list-ptx"):
        out = subprocess.run(["cuobjdump", "-all", option, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        lines += sum(b"file" in line for line in out.splitlines())
    return lines


def list_images(kdl, path, folder):
    """The images, the peak memory in KiB and the CPU seconds of one `kdl ls --json`."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.close(read)
        os.environ["LD_DEBUG"] = "files"
        os.environ["LD_DEBUG_OUTPUT"] = os.path.join(folder, "loaded")
        os.execv(kdl, [kdl, "ls", "--json", path])
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    log = os.path.join(folder, f"loaded.{pid}")
    loaded = open(log).read() if os.path.exists(log) else ""
    assert status == 0, f"kdl ls exited with {status}"
    for driver in ("libcuda.so", "libamdhip64", "libze_loader", "libOpenCL"):
        assert driver not in loaded, f"kdl ls loaded {driver}"
    return json.loads(text)["images"], usage.ru_maxrss, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kdl", required=True)
    parser.add_argument("--sanitized", action="store_true", help="the build reserves memory of its own")
    parser.add_argument("vendor", choices=("cuda", "rocm"))
    arguments = parser.parse_args()
    libraries = [p for p in (CUDA_LIBRARIES if arguments.vendor == "cuda" else ROCM_LIBRARIES) if os.path.exists(p)]
    if not libraries:
        print(f"skipped: no {arguments.vendor} library found on this machine")
        return 77
    failed = 0
    for path in libraries:
        with tempfile.TemporaryDirectory() as folder:
            found, memory, seconds = list_images(arguments.kdl, path, folder)
        images = [image for image in found if image["container"].endswith(NAMED_SECTIONS)]  # a search finds others
        expected = expected_images(path)
        problems = []
        if len(images) != expected:
            problems.append(f"listed {len(images)} images, expected {expected}")
        if arguments.vendor == "cuda" and not arguments.sanitized and os.path.getsize(path) < CUOBJDUMP_MOST and shutil.which("cuobjdump"):
            theirs = cuobjdump_images(path)
            ours = sum(image["image_kind"] in ("cubin", "ptx") for image in images)
            if theirs != ours:
                problems.append(f"cuobjdump lists {theirs} cubins and PTX files, kdl {ours}")
        if any(not image["arch"] for image in images):
            problems.append("an image has no architecture")
        if memory > MEMORY_LIMIT_KIB and not arguments.sanitized:
            problems.append(f"touched {memory} KiB, expected at most {MEMORY_LIMIT_KIB}")
        failed += bool(problems)
        print(f"{path}: {os.path.getsize(path) >> 20} MiB, {len(images)} images, {seconds * 1000:.0f} ms CPU, {memory} KiB",
              *problems, sep="; ")
    print(f"{len(libraries) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
