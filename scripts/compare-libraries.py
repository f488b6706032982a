#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what libkdl reads from real libraries, and what `kdl check` says of them, with what other tools read.

Takes packages from the Python index and from Debian, one after the other; of each library in them it compares

  images and kernel names, which `kdl ls --json --kernels` lists:
    CUDA  cubins and PTX with cuobjdump (from the package nvidia-cuda-cuobjdump), fatbins outside .nv_fatbin by a walk written here and
          cuobjdump on what it finds, bare cubins there with readelf, link-time IR by the walk
    HIP   the entries of each bundle by a walk written here and by llvm-objdump --offloading, kernel names with llvm-readelf on each code object
    SYCL  the entries of .tgtimg and the entry points of SPIR-V by a walk written here; archives of native code are counted; Intel's machine
          code that lies outside it by a search written here

  what runs on several devices, kernel by kernel, which `kdl check --json --kernels` says, with the rules written here (nvidia_runs,
  amd_runs), over the architectures and the names that the other tools read.

Code objects that lie as files (.co, .hsaco, .cubin) are compared too, at most 200 of a package, evenly spread; they are one row.

Results are kept in the folder --work, so that a run goes on where the last one ended; --again forgets them, and --keep keeps the downloads.
The table is written to docs/compared-libraries.md. Needs pip, apt-get, dpkg-deb, objcopy, readelf, zstd and LLVM's llvm-readelf and
llvm-objdump; takes hours for all, and at most some ten gigabytes at a time.

    scripts/compare-libraries.py --kdl build/bin/kdl --work /var/tmp/libraries [--keep] [NAME...]
"""
import argparse
import collections
import datetime
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
nvidia-libnvcomp-cu12 nvidia-nvimgcodec-cu12 jax-cuda12-plugin jax-cuda12-pjrt ctranslate2 faiss-gpu-cu12 cupy-cuda12x libraft-cu12
nvidia-npp-cu12 onnxruntime-gpu torchvision xformers warp-lang xgboost nvidia-nvshmem-cu12 nvidia-nccl-cu12 nvidia-cusparselt-cu12
cutensor-cu12 nvidia-cusolver-cu12 nvidia-cusparse-cu12 nvidia-cublas-cu12 libcuvs-cu12 nvidia-cudnn-cu12 torch flashinfer-cubin
jax-rocm7-plugin onemkl-sycl-dft onemkl-sycl-rng onemkl-sycl-sparse onemkl-sycl-blas dpctl dpnp""".split()
DEBIAN = """libmiopen1 librocfft0 librocalution0 librocrand1 librccl1 libhipblaslt1 librocblas4 librocsparse1 librocsolver0""".split()
SUITE = "sid"
MOST_LOOSE = 200  # code objects of a package that lie as files
CUOBJDUMP = "nvidia-cuda-cuobjdump"
SMALLEST = 50_000  # bytes: what is smaller has no device code worth the time
PAGE = os.path.join(os.path.dirname(__file__), "..", "docs", "compared-libraries.md")


# An image as another tool sees it: machine code ("native"), text or SPIR-V that a driver compiles ("jit"), either of them that lacks a function
# ("unlinked"), or what only a linker takes ("ir").
Image = collections.namedtuple("Image", "form arch names")


class Gave_up(Exception):
    """The other reader could not read the library."""


class Absent(Exception):
    """There is no such package."""


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)


# ------------------------------------------------------------------------------------------------
# Packages

def wheel(name, folder):
    """The wheel of a package, downloaded where it is not there yet."""
    pattern = os.path.join(folder, name.replace("-", "_") + "-*.whl")
    if not glob.glob(pattern):
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, name)
    found = glob.glob(pattern)
    if not found:
        raise Absent(name)
    return found[0]


def unpack_wheel(name, folder):
    """Version and folder of a wheel's shared libraries."""
    path = wheel(name, folder)
    where = path + ".d"
    if not os.path.isdir(where):
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if ".so" in os.path.basename(member) or member.endswith("bin/cuobjdump") or is_loose(member):
                    archive.extract(member, where)
    return os.path.basename(path).split("-")[1], where


def mirror():
    """Where this machine gets Debian from."""
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
    return next(line for line in targets.stdout.decode().splitlines() if line.rstrip("/").endswith("/debian"))


def apt(folder, *command):
    """apt-get with lists of its own: the packages are of another suite than this system."""
    state = os.path.join(folder, "apt")
    lists = os.path.join(state, "sources.list")
    for part in "lists/partial", "cache/archives/partial":
        os.makedirs(os.path.join(state, part), exist_ok=True)
    with open(lists, "w") as out:
        out.write(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror()} {SUITE} main\n")
    options = {"Dir::Etc::sourcelist": lists, "Dir::Etc::sourceparts": "-", "Dir::State::lists": state + "/lists", "Dir::Cache": state + "/cache"}
    return run("apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items()), *command, cwd=folder)


def unpack_debian(name, folder):
    where = os.path.join(folder, name + ".deb.d")
    pattern = os.path.join(folder, name + "_*.deb")
    if not glob.glob(pattern):
        if not os.path.isdir(os.path.join(folder, "apt")):
            apt(folder, "update")
        apt(folder, "download", name)
    if not glob.glob(pattern):
        raise Absent(name)
    path = glob.glob(pattern)[0]
    if not os.path.isdir(where):
        subprocess.run(["dpkg-deb", "-x", path, where], check=True)
    return os.path.basename(path).split("_")[1], where


def forget(name, folder):
    """Deletes what was downloaded of a package."""
    for path in glob.glob(os.path.join(folder, name.replace("-", "_") + "-*.whl*")) + glob.glob(os.path.join(folder, name + "[_.]*deb*")):
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def is_loose(path):
    return path.endswith((".co", ".hsaco", ".cubin"))


def libraries(where):
    """The shared libraries below a folder, each once, small ones first."""
    found = [path for path in glob.glob(where + "/**/*.so*", recursive=True)
             if not os.path.islink(path) and os.path.isfile(path) and os.path.getsize(path) > SMALLEST and not is_loose(path)]
    return sorted(found, key=os.path.getsize)


def loose_files(where):
    """Code objects that lie as files, at most MOST_LOOSE, and how many there are."""
    found = sorted(path for path in glob.glob(where + "/**/*", recursive=True) if is_loose(path) and not os.path.islink(path))
    step = max(1, -(-len(found) // MOST_LOOSE))
    return found[::step], len(found)


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


# Functions that the driver links to whatever asks for them.
SUPPLIED = {"vprintf", "malloc", "free", "__assertfail"}


def cuobjdump_images(tool, path, *which):
    """The images as cuobjdump sees them; with "-all" also those that only a device linker takes."""
    images, kind = [], None
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen([tool, *which, "-symbols", path], stdout=subprocess.PIPE, stderr=complaints) as dump:
            for line in dump.stdout:
                fields = line.split()
                if line.startswith(b"Fatbin "):
                    kind = fields[1]
                elif kind == b"elf" and line.startswith(b"arch = sm_"):
                    images.append(Image("native", fields[2].decode(), []))
                elif len(fields) == 4 and fields[0] == b"STT_FUNC" and fields[2] == b"STO_ENTRY":
                    images[-1].names.append(fields[3].decode())
        complaints.seek(0)
        fatal = re.search(rb"cuobjdump fatal\s*:\s*(.*?)(?: in '|$)", complaints.read())
    if fatal:
        raise Gave_up("cuobjdump: " + fatal.group(1).decode())
    listed = run(tool, *which, "-lelf", path).stdout.count(b"ELF file")
    if listed != len(images):
        raise Gave_up(f"cuobjdump lists {listed} cubins, and symbols of {len(images)}")
    texts = run(tool, *which, "-lptx", path).stdout.count(b"PTX file")
    if texts:
        cubins = len(images)
        with subprocess.Popen([tool, *which, "-ptx", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as dump:
            for line in dump.stdout:
                if line.startswith(b"Fatbin "):
                    kind = line.split()[1]
                elif kind == b"ptx" and line.startswith(b"arch = sm_"):
                    images.append(Image("jit", line.split()[2].decode(), []))
                entry = re.match(rb"\s*(?:\.(?:visible|weak|extern)\s+)?\.entry\s+([\w$%]+)", line)
                if entry:
                    images[-1].names.append(entry.group(1).decode())
                asked = re.search(rb"\.extern\s+\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", line)
                if asked and asked.group(1).decode() not in SUPPLIED:
                    images[-1] = images[-1]._replace(form="unlinked")
        if texts != len(images) - cubins:
            raise Gave_up(f"cuobjdump lists {texts} PTX files, and prints {len(images) - cubins}")
    return images


def cubin_image(path):
    """A bare cubin, as readelf sees it."""
    with open(path, "rb") as file:
        head = file.read(64)
    flags, = struct.unpack_from("<I", head, 48)
    number, suffix = (flags >> 8 & 0xff, "a" if flags & 8 else "") if head[8] >= 8 else (flags & 0xff, "a" if flags & 0x800 else "")
    names = [name.decode() for name in ENTRY_SYMBOL.findall(run("readelf", "-sW", path).stdout)]
    return Image("native", f"sm_{number}{suffix}", names)


def tell_unlinked(tool, path, images, work):
    """The images, where cubins that lack a function do not run by themselves: the library links it to them when it runs, as cuSPARSE does
    with operators."""
    told, number = [], 0
    with tempfile.TemporaryDirectory(dir=work) as folder:
        run(os.path.abspath(tool), "-xelf", "all", os.path.abspath(path), cwd=folder)
        files = {int(re.search(r"\.(\d+)\.sm_", name).group(1)): os.path.join(folder, name) for name in os.listdir(folder)}
        for image in images:
            if image.form == "native":
                number += 1
                symbols = run("readelf", "-sW", files[number]).stdout.decode()
                asked = set(re.findall(r" FUNC +GLOBAL +\S+ .*?UND +(\S+)", symbols)) - SUPPLIED
                image = image._replace(form="unlinked") if asked else image
            told.append(image)
    return told


def elsewhere(tool, data, work):
    """All images of fatbins and cubins outside the named sections, and those that are not there for a device linker alone."""
    images, linked = [], []
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
                    images += [Image("ir", "", [])] * kinds.count(8)
                    out.write(data[hit.start():done] + b"\0" * (-(16 + length) % 8))
            for hit in CUBIN.finditer(data, section.offset, end):
                if hit.start() >= done:
                    path = os.path.join(work, "one.cubin")
                    with open(path, "wb") as one:
                        one.write(data[hit.start():hit.start() + elf_length(data, hit.start())])
                    images.append(cubin_image(path))
    if os.path.getsize(blob):
        wrapped = os.path.join(work, "wrapped.o")
        empty = os.path.join(work, "empty.o")
        subprocess.run(["cc", "-x", "c", "-c", "-", "-o", empty], input=b"int x;", check=True)
        subprocess.run(["objcopy", "--add-section", ".nv_fatbin=" + blob, "--set-section-flags",
                        ".nv_fatbin=alloc,load,readonly,data", "--set-section-alignment", ".nv_fatbin=8", empty, wrapped], check=True)
        more = cuobjdump_images(tool, wrapped, "-all")
        images, linked = images + more, images + tell_unlinked(tool, wrapped, more, work)
    os.unlink(blob)
    return images, linked or images


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


def cuda_truth(tools, path, data, work):
    """All images, and those that are not there for a device linker alone."""
    tool, present = tools["cuobjdump"], {s.name for s in sections(data)}
    rest, rest_linked = elsewhere(tool, data, work)
    everything = cuobjdump_images(tool, path, "-all") if present & {".nv_fatbin", "__nv_relfatbin"} else []
    linked = cuobjdump_images(tool, path) if "__nv_relfatbin" in present else everything
    return everything + rest + [Image("ir", "", [])] * named_lto(data), linked + rest_linked


def nvidia_runs(image, device):
    """The rules of NVIDIA's documents: machine code runs on its major version from its minor on; with "a" and for Tegra on that one alone,
    with "f" in its family; PTX on anything from its version on."""
    number, suffix = re.fullmatch(r"sm_(\d+)([af]?)", image.arch).groups()
    has, needs = int(device), int(number)
    if suffix == "a" or (image.form == "native" and needs in (53, 62, 72, 87, 101, 110)):
        return has == needs
    return has >= needs and (image.form == "jit" and not suffix or has // 10 == needs // 10)


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


def code_object_names(readelf, path):
    names = []
    for line in run(readelf, "--notes", path).stdout.splitlines():
        kernel = re.match(rb"\s*\.symbol:\s*'?([^'\s]+)\.kd'?\s*$", line)
        if kernel:
            names.append(kernel.group(1).decode())
    return names


def bundle_images(readelf, bundle, work):
    images, entry = [], len(BUNDLE) + 8
    path = os.path.join(work, "code.o")
    for _ in range(struct.unpack_from("<Q", bundle, len(BUNDLE))[0]):
        offset, size, length = struct.unpack_from("<QQQ", bundle, entry)
        target = bundle[entry + 24:entry + 24 + length].decode()
        entry += 24 + length
        if size:
            with open(path, "wb") as out:
                out.write(bundle[offset:offset + size])
            arch = target.split("--", 1)[-1] if "--" in target else target.split("-", 5)[-1]
            images.append(Image("native", arch, code_object_names(readelf, path)))
    return images


def hip_truth(tools, path, data, work):
    images = []
    for section in sections(data):
        if section.name == ".hip_fatbin":
            for bundle in bundles(data, section):
                images += bundle_images(tools["readelf"], bundle, work)
    extracted = objdump_count(tools["objdump"], path, work)
    if extracted is not None and extracted != len(images):
        raise Gave_up(f"llvm-objdump finds {extracted} code objects, the walk {len(images)}")
    return images


def objdump_count(objdump, path, work):
    """The code objects that llvm-objdump --offloading extracts, beside a link to the library; None where it fails."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        link = os.path.join(folder, "l")
        os.symlink(os.path.abspath(path), link)
        if run(objdump, "--offloading", link).returncode != 0:
            return None
        return sum(os.path.getsize(os.path.join(folder, name)) > 0 for name in os.listdir(folder) if name.startswith("l.") and ".hip" in name)


GENERIC = {"gfx9-generic": "900 902 904 906 909 90c", "gfx9-4-generic": "940 941 942 950", "gfx10-1-generic": "1010 1011 1012 1013",
           "gfx10-3-generic": "1030 1031 1032 1033 1034 1035 1036", "gfx11-generic": "1100 1101 1102 1103 1150 1151 1152 1153",
           "gfx12-generic": "1200 1201"}


def amd_runs(image, device):
    """LLVM's rules: the same processor, or one that the generic stands for, and no feature that is said to differ."""
    has, needs = device.split(":"), image.arch.split(":")
    fits = has[0] == needs[0] or has[0][3:] in GENERIC.get(needs[0], "").split()
    return fits and all(feature in has[1:] for feature in needs[1:])


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


ZEBIN = re.compile(b"\x7fELF\x02\x01\x01.{11}\xcd\x00", re.DOTALL)


def zebin_image(data):
    """Intel's machine code: kernels are sections, a note has the device."""
    names, arch = [], ""
    for section in sections(data):
        if section.name.startswith(".text.") and section.name != ".text.Intel_Symbol_Table_Void_Program":
            names.append(section.name[len(".text."):])
        at, end = section.offset, section.offset + section.size
        while section.name == ".note.intelgt.compat" and at + 12 <= end:
            owner, size, kind = struct.unpack_from("<III", data, at)
            at += 12 + (owner + 3) // 4 * 4
            if kind == 6 and size == 4:
                config, = struct.unpack_from("<I", data, at)
                arch = f"{config >> 22}.{config >> 14 & 0xff}.{config & 0x3f}"
            at += (size + 3) // 4 * 4
    return Image("native", arch, names)


def bare_zebins(data, taken):
    images = []
    for section in filter(holds, sections(data)):
        for hit in ZEBIN.finditer(data, section.offset, section.offset + section.size):
            if not any(start <= hit.start() < stop for start, stop in taken):
                images.append(zebin_image(data[hit.start():hit.start() + elf_length(data, hit.start())]))
    return images


def sycl_truth(data):
    """A member of an archive of native code is an image, whose names are not read."""
    images, taken = [], []
    table = next((s for s in sections(data) if s.name == ".tgtimg"), None)
    if not table:
        return images
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
        taken.append((at, at + size))
        stop = min(section.offset + section.size, at + following.get(address, 1 << 62) - address)
        image = data[at:at + size]
        if data[at:at + 4] == b"\x28\xb5\x2f\xfd":
            image = run("zstd", "-dcq", input=data[at:stop]).stdout[:size]
        if image[:8] == b"!<arch>\n":
            images += [Image("ir", "", [])] * len(re.findall(rb"\x7fELF\x02\x01\x01.{11}\xcd\x00", image, re.DOTALL))
        elif image[:4] == b"\x03\x02\x23\x07":
            images.append(Image("jit", "", entry_points(image)))
        else:
            images.append(Image("ir", "", []))
    return images + bare_zebins(data, taken)


# ------------------------------------------------------------------------------------------------
# Comparing

def ours(kdl, path):
    listed = json.loads(run(kdl, "ls", "--json", "--kernels", path).stdout)
    images = [i for i in listed.get("images", []) if (i["offload_kind"] != "none" or i["image_kind"] == "zebin") and i["image_kind"] != "object"]
    names = collections.Counter(name for i in images if i["offload_kind"] != "sycl" or i["image_kind"] == "spirv"
                                for name in i["kernels"] if isinstance(name, str))
    return images, names


DEVICES = {"cuda": {"t4": "75", "a100": "80", "l4": "89", "h200": "90", "b200": "100", "b300": "103", "rtx5090": "120"},
           "hip": {"mi50": "gfx906:sramecc+:xnack-", "mi210": "gfx90a:sramecc+:xnack-", "mi300x": "gfx942:sramecc+:xnack-",
                   "rx6900xt": "gfx1030", "rx7900xtx": "gfx1100"},
           "sycl": {"pvc": "12.60.7"}}
RUNS = {"cuda": nvidia_runs, "hip": amd_runs, "sycl": lambda image, device: image.form == "jit" or image.arch == device}


def expected(images, kind, device):
    """(kernels that run as machine code, those that a driver compiles, all others)"""
    everything = {name for image in images for name in image.names}
    native = {name for image in images if image.form == "native" and RUNS[kind](image, device) for name in image.names}
    jit = {name for image in images if image.form == "jit" and RUNS[kind](image, device) for name in image.names} - native
    return native, jit, everything - native - jit


def checked(tools, kind, paths):
    """What `kdl check` says, by path: a verdict for each device."""
    said = run(tools["kdl"], "check", "--json", "--kernels", *("--device=" + name for name in DEVICES[kind]), *paths).stdout
    return {library["file"]: library["devices"] for library in json.loads(said)["libraries"]}


def check_faults(images, kind, verdicts):
    """Where `kdl check` and the rules over the other tools' lists differ."""
    faults = []
    for (name, device), verdict in zip(DEVICES[kind].items(), verdicts):
        native, jit, missing = expected(images, kind, device)
        got = {kernel for gap in verdict["missing"] for kernel in gap["names"]}
        said = verdict["kernels_native"], verdict["kernels_jit"], len(got)
        if said != (len(native), len(jit), len(missing)) or got != missing:
            faults.append(f"{name}: {said} and not {(len(native), len(jit), len(missing))} {sorted(got ^ missing)[:2]}")
    return faults


def kind_of(images, data):
    present = {s.name for s in sections(data)}
    return next((k for k in ("sycl", "hip", "cuda") if any(i["offload_kind"] == k for i in images)),
                "sycl" if ".tgtimg" in present else "hip" if ".hip_fatbin" in present else "cuda" if ".nv_fatbin" in present else None)


def compare(tools, path, work):
    """One row, or None for a library without device code."""
    images, names = ours(tools["kdl"], path)
    theirs, linked, fault, faults = [], None, None, []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        kind = kind_of(images, data)
        if not kind:
            return None
        try:
            if kind == "cuda":
                theirs, linked = cuda_truth(tools, path, data, work)
            else:
                theirs = linked = hip_truth(tools, path, data, work) if kind == "hip" else sycl_truth(data)
        except Gave_up as reason:
            fault = str(reason)
    their_names = collections.Counter(name for image in theirs for name in image.names)
    # The names of SYCL's native code are not read here: only where there is none does the rule say what is missing.
    is_told = kind != "sycl" or not any(image.form == "ir" for image in theirs)
    if their_names and is_told and not fault:
        faults = check_faults(linked, kind, checked(tools, kind, [path]).get(path, []))
    return {"library": os.path.basename(path), "kind": kind, "images": len(images), "their_images": len(theirs), "fault": fault,
            "kernels": sum(names.values()), "their_kernels": sum(their_names.values()),
            "missing": sorted((their_names - names).keys())[:5], "surplus": sorted((names - their_names).keys())[:5],
            "distinct": len(their_names), "devices": len(DEVICES[kind]) if their_names and is_told and not fault else 0, "check": faults}


def loose_images(tools, path, work):
    """The images of a code object that lies as a file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] == b"\x7fELF" and data[18:20] == b"\xbe\0":
        return [cubin_image(path)]
    if data[:4] == b"\x7fELF":
        flags = re.search(rb"Flags:\s*0x\w+(.*)", run(tools["readelf"], "-h", path).stdout).group(1).decode()
        features = [f[:-1] if f.endswith("+") else f for f in re.findall(r"(?:sramecc|xnack)[+-]", flags)]
        arch = ":".join([re.search(r"gfx[\w-]+", flags).group(0)] + [f if f.endswith("-") else f + "+" for f in features])
        return [Image("native", arch, code_object_names(tools["readelf"], path))]
    section = Section("", 1, 2, 0, 0, len(data))
    return [image for bundle in bundles(data, section) for image in bundle_images(tools["readelf"], bundle, work)]


def compare_loose(tools, paths, count, work):
    """One row for the code objects of a package that lie as files."""
    kind = "cuda" if paths[0].endswith(".cubin") else "hip"
    said = checked(tools, kind, paths)
    row = {"library": f"{len(paths):,} of {count:,} files that are code objects", "kind": kind, "images": 0, "their_images": 0, "fault": None,
           "kernels": 0, "their_kernels": 0, "missing": [], "surplus": [], "distinct": 0, "devices": len(DEVICES[kind]), "check": []}
    for path in paths:
        images, names = ours(tools["kdl"], path)
        theirs = loose_images(tools, path, work)
        their_names = collections.Counter(name for image in theirs for name in image.names)
        row["images"] += len(images)
        row["their_images"] += len(theirs)
        row["kernels"] += sum(names.values())
        row["their_kernels"] += sum(their_names.values())
        row["distinct"] += len(their_names)
        row["missing"] = (row["missing"] + sorted((their_names - names).keys()))[:5]
        row["surplus"] = (row["surplus"] + sorted((names - their_names).keys()))[:5]
        if their_names:
            row["check"] += [f"{os.path.basename(path)}: {fault}" for fault in check_faults(theirs, kind, said.get(path, []))]
    row["check"] = row["check"][:5]
    return row


def is_equal(row):
    return not row["fault"] and row["images"] == row["their_images"] and not row["missing"] and not row["surplus"] and not row["check"]


def write_page(rows, versions):
    equal = sum(map(is_equal, rows))
    verdicts = sum(r["distinct"] * r["devices"] for r in rows)
    with open(PAGE, "w") as page:
        page.write(f"""# Libraries that the parsers and `kdl check` were compared on

`scripts/compare-libraries.py` wrote this page, on {versions["date"]}. It takes packages from the Python index and from Debian {SUITE}, lists every
shared library with `kdl ls --json --kernels`, and compares images and kernel names with other readers: cuobjdump {versions["cuobjdump"]} for CUDA, a walk
of the bundles, llvm-objdump and llvm-readelf {versions["llvm"]} for HIP, a walk of `.tgtimg` and of SPIR-V's entry points for SYCL. Link-time IR is counted,
and has no kernel names that a public tool reads; nor are names of SYCL's native code compared. cuobjdump does not look outside `.nv_fatbin`
and `__nv_relfatbin`: what else there is was found by the script's own search and given to it, bare cubins to readelf.

Then it compares, for every kernel name, whether `kdl check` says that it runs as machine code, through the driver's compiler, or not, with
the rules of the script over those readers' lists: for CUDA on {" ".join(DEVICES["cuda"])}, for HIP on {" ".join(DEVICES["hip"])}, for SYCL on
{" ".join(DEVICES["sycl"])} where a library has SPIR-V alone.

{len(rows)} rows, {sum(r["images"] for r in rows):,} images, {sum(r["kernels"] for r in rows):,} kernel names and {verdicts:,} verdicts on a kernel and a device; {equal} rows equal.

| package | version | library | for | images | kernels | distinct | devices | equal |
|---|---|---|---|---|---|---|---|---|
""")
        for r in rows:
            verdict = ("yes" if is_equal(r) else f"not compared: {r['fault']}" if r["fault"] else f"no: {r['check'][0]}" if r["check"] else
                       f"no: {r['their_images']:,} images, {r['their_kernels']:,} kernels expected")
            page.write(f"| {r['package']} | {r['version']} | {r['library']} | {r['kind']} | {r['images']:,} | {r['kernels']:,} | {r['distinct']:,} | "
                       f"{r['devices'] or '-'} | {verdict} |\n")


def compare_package(tools, name, folder, known, save):
    version, where = (unpack_debian if name in DEBIAN else unpack_wheel)(name, folder)
    loose, count = loose_files(where)
    for path in libraries(where) + ([None] if loose else []):
        key = f"{name} {version} {os.path.relpath(path, where) if path else 'files'}"
        if key not in known:
            with tempfile.TemporaryDirectory(dir=folder) as work:
                row = compare(tools, path, work) if path else compare_loose(tools, loose, count, work)
            known[key] = row and {"package": name, "version": version, **row}
            save()
        if known[key]:
            print(key, known[key]["images"], known[key]["kernels"], "equal" if is_equal(known[key]) else known[key], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kdl", required=True)
    parser.add_argument("--work", required=True, help="folder for downloads and results")
    parser.add_argument("--again", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("--keep", action="store_true", help="keep the downloads")
    parser.add_argument("names", nargs="*", help="packages; default: all")
    arguments = parser.parse_args()
    folder = os.path.abspath(arguments.work)
    os.makedirs(folder, exist_ok=True)
    results = os.path.join(folder, "results.json")
    known = {} if arguments.again or not os.path.exists(results) else json.load(open(results))

    def save():
        with open(results, "w") as out:
            json.dump(known, out, indent=1)

    version, where = unpack_wheel(CUOBJDUMP, folder)
    cuobjdump = glob.glob(where + "/**/cuobjdump", recursive=True)[0]
    os.chmod(cuobjdump, 0o755)
    find = lambda name: next(filter(None, map(shutil.which, (name + "-22", name))))
    tools = {"kdl": os.path.abspath(arguments.kdl), "cuobjdump": cuobjdump, "readelf": find("llvm-readelf"), "objdump": find("llvm-objdump")}
    llvm = re.search(rb"version (\S+)", run(tools["readelf"], "--version").stdout).group(1).decode()
    absent = []
    for name in arguments.names or PYTHON + DEBIAN:
        try:
            compare_package(tools, name, folder, known, save)
        except Absent:
            absent.append(name)
            print(name, "there is no such package for this Python or in", SUITE, flush=True)
        if not arguments.keep:
            forget(name, folder)
    rows = [row for row in known.values() if row]
    write_page(rows, {"cuobjdump": version, "llvm": llvm, "date": datetime.date.today().isoformat()})
    return 0 if all(map(is_equal, rows)) and not absent else 1


if __name__ == "__main__":
    sys.exit(main())
