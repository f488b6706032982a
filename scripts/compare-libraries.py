#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what libkdl reads from real libraries with what other tools read.

Downloads packages from the Python index and from Debian, lists each library in them with `kdl ls --json --kernels`, and compares
images and kernel names:

  CUDA  cubins and PTX with cuobjdump (from the package nvidia-cuda-cuobjdump), fatbins outside .nv_fatbin by a walk written here and
        cuobjdump on what it finds, bare cubins there with readelf, link-time IR by the walk
  HIP   the entries of each bundle by a walk written here, kernel names with llvm-readelf on each code object
  SYCL  the entries of .tgtimg and the entry points of SPIR-V by a walk written here; archives of native code are counted

Results are kept beside the downloads, so that a run goes on where the last one ended; --again forgets them. The table is written to
docs/compared-libraries.md. Needs pip, apt-get, dpkg-deb, objcopy, readelf, zstd and LLVM's llvm-readelf; takes hours and tens of gigabytes for all.

    scripts/compare-libraries.py --kdl build/bin/kdl --work /var/tmp/libraries [NAME...]
"""
import argparse
import collections
import glob
import json
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

PYTHON = """bitsandbytes nvidia-nvjpeg-cu12 nvidia-curand-cu12 nvidia-cufft-cu12 nvidia-nvtiff-cu12 nvidia-nvjpeg2k-cu12
nvidia-libnvcomp-cu12 jax-cuda12-plugin ctranslate2 faiss-gpu-cu12 cupy-cuda12x libraft-cu12 nvidia-npp-cu12 onnxruntime-gpu
nvidia-nvshmem-cu12 nvidia-nccl-cu12 nvidia-cusparselt-cu12 cutensor-cu12 nvidia-cusolver-cu12 nvidia-cusparse-cu12 nvidia-cublas-cu12
libcuvs-cu12 nvidia-cudnn-cu12 torch onemkl-sycl-dft onemkl-sycl-rng onemkl-sycl-sparse onemkl-sycl-blas dpctl dpnp""".split()
DEBIAN = ["librocrand1", "librocsparse0"]
CUOBJDUMP = "nvidia-cuda-cuobjdump"
SMALLEST = 50_000  # bytes: what is smaller has no device code worth the time
PAGE = os.path.join(os.path.dirname(__file__), "..", "docs", "compared-libraries.md")


class Gave_up(Exception):
    """The other reader could not read the library."""


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)


# ------------------------------------------------------------------------------------------------
# Packages

def wheel(name, folder):
    """The wheel of a package, downloaded where it is not there yet."""
    pattern = os.path.join(folder, name.replace("-", "_") + "-*.whl")
    if not glob.glob(pattern):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, name], check=True)
    return glob.glob(pattern)[0]


def unpack_wheel(name, folder):
    """Version and folder of a wheel's shared libraries."""
    path = wheel(name, folder)
    where = path + ".d"
    if not os.path.isdir(where):
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if ".so" in os.path.basename(member) or member.endswith("bin/cuobjdump"):
                    archive.extract(member, where)
    return os.path.basename(path).split("-")[1], where


def unpack_debian(name, folder):
    where = os.path.join(folder, name + ".deb.d")
    if not glob.glob(os.path.join(folder, name + "_*.deb")):
        subprocess.run(["apt-get", "-q", "download", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    path = glob.glob(os.path.join(folder, name + "_*.deb"))[0]
    if not os.path.isdir(where):
        subprocess.run(["dpkg-deb", "-x", path, where], check=True)
    return os.path.basename(path).split("_")[1], where


def libraries(where):
    """The shared libraries below a folder, each once, small ones first."""
    found = [path for path in glob.glob(where + "/**/*.so*", recursive=True)
             if not os.path.islink(path) and os.path.isfile(path) and os.path.getsize(path) > SMALLEST]
    return sorted(found, key=os.path.getsize)


# ------------------------------------------------------------------------------------------------
# ELF files, as far as the walks need them

Section = collections.namedtuple("Section", "name type flags address offset size")


def sections(data):
    if data[:6] != b"\x7fELF\2\1":
        return []
    table, = struct.unpack_from("<Q", data, 40)
    stride, count, names = struct.unpack_from("<HHH", data, 58)
    if not table:
        return []
    raw = [struct.unpack_from("<IIQQQQ", data, table + i * stride) for i in range(count)]
    text = raw[names][4]
    return [Section(data[text + r[0]:data.find(b"\0", text + r[0])].decode(), *r[1:]) for r in raw]


def holds(section):
    return section.type == 1 and section.flags & 2 and not section.flags & 4


# ------------------------------------------------------------------------------------------------
# CUDA

FATBIN = re.compile(re.escape(b"\x50\xed\x55\xba\x01\x00\x10\x00"))
ENTRY_SYMBOL = re.compile(rb" FUNC +\w+ +\w+ +\[<other>: 10\] +\d+ (\S+)")
CUBIN = re.compile(b"\x7fELF\x02\x01\x01.{11}\xbe\x00", re.DOTALL)


def fatbin_entries(data, at):
    """The kinds of a fatbin's entries."""
    length, = struct.unpack_from("<Q", data, at + 8)
    entry, stop, kinds = at + 16, at + 16 + length, []
    while entry < stop:
        kind, _, header, payload = struct.unpack_from("<HHIQ", data, entry)
        kinds.append(kind)
        entry += header + payload
    return kinds if entry == stop else None


def elf_length(data, at):
    segments, table = struct.unpack_from("<QQ", data, at + 32)
    count, = struct.unpack_from("<H", data, at + 56)
    stride, number = struct.unpack_from("<HH", data, at + 58)
    return max(table + stride * number, segments + 56 * count)


def cuobjdump_kernels(tool, path):
    """(cubins, PTX files, Counter of kernel names) as cuobjdump sees them."""
    listing = subprocess.run([tool, "-all", "-lelf", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    fatal = re.search(rb"cuobjdump fatal\s*:\s*(.*?)(?: in '|$)", listing.stderr)
    if fatal:
        raise Gave_up("cuobjdump: " + fatal.group(1).decode())
    cubins = listing.stdout.count(b"ELF file")
    texts = run(tool, "-all", "-lptx", path).stdout.count(b"PTX file")
    names = collections.Counter()
    if cubins:
        with subprocess.Popen([tool, "-all", "-symbols", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as dump:
            for line in dump.stdout:
                fields = line.split()
                if len(fields) == 4 and fields[0] == b"STT_FUNC" and fields[2] == b"STO_ENTRY":
                    names[fields[3].decode()] += 1
    if texts:
        with subprocess.Popen([tool, "-all", "-ptx", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as dump:
            for line in dump.stdout:
                entry = re.match(rb"\s*(?:\.(?:visible|weak|extern)\s+)?\.entry\s+([\w$%]+)", line)
                if entry:
                    names[entry.group(1).decode()] += 1
    return cubins, texts, names


def elsewhere(tool, data, work):
    """The same for fatbins and cubins outside the named sections; link-time IR is counted apart."""
    cubins = texts = lto = 0
    names = collections.Counter()
    blob = os.path.join(work, "blob")
    with open(blob, "wb") as out:
        for section in sections(data):
            if not holds(section) or section.name in (".nv_fatbin", "__nv_relfatbin"):
                continue
            end, done = section.offset + section.size, 0
            for hit in FATBIN.finditer(data, section.offset, end):
                kinds = fatbin_entries(data, hit.start()) if hit.start() >= done else None
                if kinds:
                    length, = struct.unpack_from("<Q", data, hit.start() + 8)
                    done = hit.start() + 16 + length
                    lto += kinds.count(8)
                    out.write(data[hit.start():done] + b"\0" * (-(16 + length) % 8))
            for hit in CUBIN.finditer(data, section.offset, end):
                if hit.start() >= done:
                    path = os.path.join(work, "one.cubin")
                    with open(path, "wb") as one:
                        one.write(data[hit.start():hit.start() + elf_length(data, hit.start())])
                    names.update(name.decode() for name in ENTRY_SYMBOL.findall(run("readelf", "-sW", path).stdout))
                    cubins += 1
    if os.path.getsize(blob):
        wrapped = os.path.join(work, "wrapped.o")
        empty = os.path.join(work, "empty.o")
        subprocess.run(["cc", "-x", "c", "-c", "-", "-o", empty], input=b"int x;", check=True)
        subprocess.run(["objcopy", "--add-section", ".nv_fatbin=" + blob, "--set-section-flags",
                        ".nv_fatbin=alloc,load,readonly,data", "--set-section-alignment", ".nv_fatbin=8", empty, wrapped], check=True)
        more = cuobjdump_kernels(tool, wrapped)
        cubins, texts, names = cubins + more[0], texts + more[1], names + more[2]
    os.unlink(blob)
    return cubins, texts, lto, names


def named_lto(data):
    count = 0
    for section in sections(data):
        if section.name in (".nv_fatbin", "__nv_relfatbin"):
            at, end = section.offset, section.offset + section.size
            while at + 16 <= end:
                if data[at:at + 4] != b"\x50\xed\x55\xba":
                    at += 8
                    continue
                count += fatbin_entries(data, at).count(8)
                at += 16 + struct.unpack_from("<Q", data, at + 8)[0]
    return count


def cuda_truth(tool, path, data, work):
    named = cuobjdump_kernels(tool, path) if any(s.name in (".nv_fatbin", "__nv_relfatbin") for s in sections(data)) else (0, 0, {})
    rest = elsewhere(tool, data, work)
    lto = rest[2] + named_lto(data)
    return named[0] + rest[0] + named[1] + rest[1] + lto, collections.Counter(named[2]) + rest[3]


# ------------------------------------------------------------------------------------------------
# HIP

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"


def inflate(method, packed, size):
    if method == 0:
        return zlib.decompress(packed)
    return run("zstd", "-dcq", input=packed).stdout[:size]


def bundles(data, section):
    """The bytes of each bundle of a section, plain."""
    at, end = section.offset, section.offset + section.size
    while at < end:
        if data[at:at + 4] == b"CCOB":
            version, method = struct.unpack_from("<HH", data, at + 4)
            total, size = struct.unpack_from("<II" if version == 2 else "<QQ", data, at + 8)
            yield inflate(method, data[at + {2: 24, 3: 32}[version]:at + total], size)
            at += total
        elif data[at:at + len(BUNDLE)] == BUNDLE:
            following = [x for x in (data.find(BUNDLE, at + 32, end), end) if x > 0]
            yield data[at:min(following)]
            at = min(following)
        else:
            at += 1 if at % 8 else 8


def hip_truth(readelf, data, work):
    images, names = 0, collections.Counter()
    path = os.path.join(work, "code.o")
    for section in sections(data):
        if section.name != ".hip_fatbin":
            continue
        for bundle in bundles(data, section):
            count, = struct.unpack_from("<Q", bundle, len(BUNDLE))
            entry = len(BUNDLE) + 8
            for _ in range(count):
                offset, size, length = struct.unpack_from("<QQQ", bundle, entry)
                entry += 24 + length
                if not size:
                    continue
                images += 1
                with open(path, "wb") as out:
                    out.write(bundle[offset:offset + size])
                for line in run(readelf, "--notes", path).stdout.splitlines():
                    kernel = re.match(rb"\s*\.symbol:\s*'?([^'\s]+)\.kd'?\s*$", line)
                    if kernel:
                        names[kernel.group(1).decode()] += 1
    return images, names


# ------------------------------------------------------------------------------------------------
# SYCL

def entry_points(module):
    """The names of a SPIR-V module's OpEntryPoints."""
    words = struct.unpack("<%dI" % (len(module) // 4), module[:len(module) // 4 * 4])
    at, names = 5, []
    while at < len(words):
        if words[at] & 0xffff == 15:
            text = module[(at + 3) * 4:]
            names.append(text[:text.index(b"\0")].decode())
        at += words[at] >> 16 or len(words)
    return names


def sycl_truth(data):
    """(images, Counter of the entry points of SPIR-V): a member of an archive of native code is an image."""
    images, names = 0, collections.Counter()
    table = next((s for s in sections(data) if s.name == ".tgtimg"), None)
    if not table:
        return 0, names
    entries = [list(struct.unpack_from("<QQ", data, at)) for at in range(table.offset, table.offset + table.size, 16)]
    for section in sections(data):
        if section.type == 4 and section.flags & 2:
            for place, info, addend in struct.iter_unpack("<QQq", data[section.offset:section.offset + section.size // 24 * 24]):
                if info == 8 and table.address <= place < table.address + table.size and (place - table.address) % 16 == 0:
                    entries[(place - table.address) // 16][0] = addend
    starts = sorted(entry[0] for entry in entries)
    following = {a: b for a, b in zip(starts, starts[1:])}
    for address, size in entries:
        if not size:
            continue
        section = next(s for s in sections(data) if holds(s) and s.address <= address < s.address + s.size)
        at = section.offset + address - section.address
        stop = min(section.offset + section.size, at + following.get(address, 1 << 62) - address)
        image = data[at:at + size]
        if data[at:at + 4] == b"\x28\xb5\x2f\xfd":
            image = run("zstd", "-dcq", input=data[at:stop]).stdout[:size]
        if image[:8] == b"!<arch>\n":
            images += len(re.findall(rb"\x7fELF\x02\x01\x01.{11}\xcd\x00", image, re.DOTALL))
        else:
            images += 1
        if image[:4] == b"\x03\x02\x23\x07":
            names.update(entry_points(image))
    return images, names


# ------------------------------------------------------------------------------------------------
# Comparing

def ours(kdl, path):
    listed = json.loads(run(kdl, "ls", "--json", "--kernels", path).stdout)
    images = [i for i in listed.get("images", []) if i["offload_kind"] != "none" and i["image_kind"] != "object"]
    names = collections.Counter(name for i in images if i["offload_kind"] != "sycl" or i["image_kind"] == "spirv"
                                for name in i["kernels"] if isinstance(name, str))
    return images, names


def compare(tools, path, work):
    """One row, or None for a library without device code."""
    images, names = ours(tools["kdl"], path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        kind = next((k for k in ("sycl", "hip", "cuda") if any(i["offload_kind"] == k for i in images)), None)
        present = {s.name for s in sections(data)}
        if not kind:
            kind = "sycl" if ".tgtimg" in present else "hip" if ".hip_fatbin" in present else "cuda" if ".nv_fatbin" in present else None
        if not kind:
            return None
        theirs, their_names, fault = 0, collections.Counter(), None
        try:
            theirs, their_names = (cuda_truth(tools["cuobjdump"], path, data, work) if kind == "cuda" else
                                   hip_truth(tools["readelf"], data, work) if kind == "hip" else sycl_truth(data))
        except Gave_up as reason:
            fault = str(reason)
    return {"library": os.path.basename(path), "kind": kind, "images": len(images), "their_images": theirs, "fault": fault,
            "kernels": sum(names.values()), "their_kernels": sum(their_names.values()),
            "missing": sorted((their_names - names).keys())[:5], "surplus": sorted((names - their_names).keys())[:5]}


def is_equal(row):
    return not row["fault"] and row["images"] == row["their_images"] and not row["missing"] and not row["surplus"]


def write_page(rows, versions):
    equal = sum(map(is_equal, rows))
    with open(PAGE, "w") as page:
        page.write(f"""# Libraries that the parsers were compared on

`scripts/compare-libraries.py` wrote this page. It takes packages from the Python index and from Debian, lists every shared library with
`kdl ls --json --kernels`, and compares images and kernel names with other readers: cuobjdump {versions["cuobjdump"]} for CUDA, a walk of the bundles and
llvm-readelf for HIP, a walk of `.tgtimg` and of SPIR-V's entry points for SYCL. Link-time IR is counted, and has no kernel names that
a public tool reads; nor are names of SYCL's native code compared. cuobjdump does not look outside `.nv_fatbin` and `__nv_relfatbin`: what
else there is was found by the script's own search and given to it, bare cubins to readelf.

{len(rows)} libraries, {sum(r["images"] for r in rows):,} images and {sum(r["kernels"] for r in rows):,} kernel names; {equal} libraries equal.

| package | version | library | for | images | kernels | equal |
|---|---|---|---|---|---|---|
""")
        for r in rows:
            verdict = "yes" if is_equal(r) else f"not compared: {r['fault']}" if r["fault"] else (f"no: {r['their_images']:,} images, {r['their_kernels']:,} kernels expected")
            page.write(f"| {r['package']} | {r['version']} | {r['library']} | {r['kind']} | {r['images']:,} | {r['kernels']:,} | {verdict} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kdl", required=True)
    parser.add_argument("--work", required=True, help="folder for downloads and results")
    parser.add_argument("--again", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("names", nargs="*", help="packages; default: all")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    results = os.path.join(arguments.work, "results.json")
    known = {} if arguments.again or not os.path.exists(results) else json.load(open(results))
    version, where = unpack_wheel(CUOBJDUMP, arguments.work)
    cuobjdump = glob.glob(where + "/**/cuobjdump", recursive=True)[0]
    os.chmod(cuobjdump, 0o755)
    readelf = next(filter(None, map(shutil.which, ("llvm-readelf-22", "llvm-readelf"))))
    tools = {"kdl": os.path.abspath(arguments.kdl), "cuobjdump": cuobjdump, "readelf": readelf}
    for name in arguments.names or PYTHON + DEBIAN:
        package_version, folder = (unpack_debian if name in DEBIAN else unpack_wheel)(name, arguments.work)
        for path in libraries(folder):
            key = f"{name} {package_version} {os.path.relpath(path, folder)}"
            if key not in known:
                with tempfile.TemporaryDirectory(dir=arguments.work) as work:
                    row = compare(tools, path, work)
                known[key] = row and {"package": name, "version": package_version, **row}
                with open(results, "w") as out:
                    json.dump(known, out, indent=1)
            if known[key]:
                print(key, known[key]["images"], known[key]["kernels"], "equal" if is_equal(known[key]) else known[key], flush=True)
    rows = [row for row in known.values() if row]
    write_page(rows, {"cuobjdump": version})
    return 0 if all(map(is_equal, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
