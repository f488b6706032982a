# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""growth.py CASE KDL SUBJECTS INPUTS IMAGES FOLDER: instructions, as valgrind counts them, of one input and of one four
times as large. In proportion they are four times as many, with sorting a little more; in squares sixteen times."""
import os
import re
import shutil
import struct
import subprocess
import sys

case, kdl, subjects, inputs, images, folder = sys.argv[1:]
most = 4.8
nvidia = [(b"triple", b"nvptx64-nvidia-cuda"), (b"arch", b"sm_80")]
host = {"x86_64": (b"x86_64-unknown-linux-gnu", b"x86-64"), "aarch64": (b"aarch64-unknown-linux-gnu", b"armv8-a")}


def offload(rows):
    """OffloadBinaries of version 1, one behind the other: (image kind, pairs, image)."""
    out = []
    for kind, pairs, image in rows:
        texts, places, end = [b"\0"], [], 1
        for text in (text for pair in pairs for text in pair):
            places.append(end)
            texts.append(text + b"\0")
            end += len(text) + 1
        texts = b"".join(texts)
        texts_at = 72 + 8 * len(places)
        at = (texts_at + len(texts) + 7) // 8 * 8
        size = (at + len(image) + 7) // 8 * 8
        binary = struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", 1, size, 32, 40)
        binary += struct.pack("<HHIQQQQ", kind, 0, 0, 72, len(pairs), at, len(image))
        binary += b"".join(struct.pack("<Q", texts_at + place) for place in places) + texts
        out.append(binary.ljust(at, b"\0") + image.ljust(size - at, b"\0"))
    return b"".join(out)


def save(name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def text(words):
    return struct.pack("<I", len(words)) + words


def recorded(kernels):
    """A sequence with those kernels, (name, constants), of which it launches the first."""
    body = struct.pack("<IQ", 1, 1024) + text(b"x")
    for name, constants in kernels:
        body += text(name) + text(b"") + text(b"") + struct.pack("<III", 0xFFFFFFFF, 1, 8) + bytes(24)
        body += struct.pack("<I", len(constants)) + b"".join(text(key) + text(value) for key, value in constants)
    body += struct.pack("<IIIQQQIIIQ", 1, 0, 1, 1, 1, 1, 1, 5, 1, 0)
    head = struct.pack("<4sIQIIII", b"\xf7KSQ", 1, 32 + len(body), 1, len(kernels), 1, 0)
    return (0, [(b"kdl.sequence", b"s")], head + body)


def sequence(n, kernels):
    """Behind the sequence n images that lack its kernels, half of them for the host."""
    triple, arch = host[os.uname().machine]
    own = [(b"triple", triple), (b"arch", arch)]
    others = [(1, (own if i % 2 else nvidia) + [(b"kdl.kernel.other%d" % i, b"block=1")], b"x") for i in range(n)]
    with open(os.path.join(images, "mark1.so"), "rb") as file:
        image = file.read()
    path = save("sequence%d" % n, offload([recorded(kernels)] + others + [(1, own, image)]))
    return [kdl, "run", "--sequence=" + path, "--device=host", "--slot=x=zero"], 0


def sequence_kernels(n):
    return sequence(n, [(b"count", [])] * n)


def sequence_constants(n):
    return sequence(n, [(b"count", [(b"c", b"%d" % i)]) for i in range(n)])


def merge(n):
    """Bundles that are put together, each of an image of its own."""
    split = os.path.join(folder, "split%d" % n)
    subprocess.run([sys.executable, inputs + "/hostile_split.py", split, str(n), "64", "256"], check=True)
    return [kdl, "merge", split, "-o", os.path.join(folder, "merged")], 1


def subject(n):
    return [subjects, case, str(n)], 0


def trace(n):
    """What a program of CUDA would have recorded: as many loads, modules, kernels and failures."""
    lines = ["process\t1\tprogram"]
    for i in range(1, n + 1):
        lines.append("load\t%d\tcuModuleLoadData\t0\t10\t0\t0\t" % i)
        lines.append("module\t%d\t%d\t64\t0\tsm_80\t5\t0\tcuModuleLoadData" % (i, i))
    lines += ["kernel\t%d\tk%d" % (i, i) for i in range(n)]
    lines += ["launched\t%d\tk%d" % (i + 1, i) for i in range(n)]
    lines += ["fail\t200\t%d\t0\tcuModuleGetFunction\tf%d\t" % (i + 1, i) for i in range(n)]
    lines += ["unload\t%d" % i for i in range(1, n + 1)]
    return recording(n, lines)


def recording(n, lines):
    log = save("log%d" % n, ("\n".join(lines) + "\n").encode())
    counts = save("counts%d" % n, struct.pack("<Q", 1) * 70000)
    copy = 'cp "$1" "$KDL_TRACE_MODULES/1-1.counts"; cp "$0" "$KDL_TRACE_MODULES/1-1.log"'
    out = os.path.join(folder, "out")
    return [kdl, "trace", "-o", out, "--json=" + out + ".json", "--", "sh", "-c", copy, log, counts], 0


def recording_hash(data):
    """As kdl_recording_hash (ext/inject/recording.h), of 8 bytes or more."""
    hashed = 0x6B646C2D74726163 + len(data)
    for at in [*range(0, len(data) - 8, 8), len(data) - 8]:
        product = (hashed ^ int.from_bytes(data[at : at + 8], "little")) * 0x9E3779B97F4A7C15
        hashed = (product ^ product >> 64) & (1 << 64) - 1
    return hashed


def trace_modules(is_loaded):
    """Modules of a file with as many images, each of a load call or of none; the driver compiled every other one, so that its
    bytes are in no image."""

    def make(n):
        images = [ptx([b"k%06d" % i]) for i in range(n)]
        rows = [offload([(5, nvidia, image)]) for image in images]
        path = save("modules%d" % n, b"".join(rows))
        lines, at = ["process\t1\tprogram", "device\t1\tcuda:sm_80"], 0
        for i in range(n):
            lines.append("load\t%d\tcuModuleLoadData\t0\t10\t1\t%d\t%s" % (i + 1, at, path))
            at += len(rows[i])
        for i in range(n):
            found = recording_hash(images[i]) if i % 2 else i + 1
            lines.append("module\t%d\t%d\t%d\t%016x\tsm_80\t5\t1\t" % (i + 1, i + 1 if is_loaded else 0, len(images[i]), found))
        return recording(n, lines)

    return make


def report(n):
    """A trace of launches, each of another kernel in another thread."""
    rows = [
        '{"name":"launch","cat":"kdl","ph":"X","pid":1,"tid":%d,"ts":%d,"dur":1,"args":{"kernel":"k%d","device":"d"}}'
        % (i, 2 * i, i)
        for i in range(n)
    ]
    text = '{"otherData":{"schema":"kdl-trace-1","events":%d},"traceEvents":[%s]}' % (n, ",".join(rows))
    return [kdl, "trace", "report", save("trace%d" % n, text.encode())], 0


def ptx(names):
    return b".version 8.0\n.target sm_80\n.address_size 64\n" + b"".join(
        b".visible .entry %s(.param .u64 a){ret;}\n" % name for name in names
    )


def fatbin(image):
    image = image.ljust((len(image) + 7) // 8 * 8, b"\0")
    entry = struct.pack("<HHIQIIHHI", 1, 0x101, 64, len(image), 0, 0, 0, 8, 80).ljust(64, b"\0") + image
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry


# What readers are given, by what there is much of.
files = {
    "images": lambda n: offload([(5, nvidia, ptx([b"k%d" % i])) for i in range(n)]),
    "kernels": lambda n: offload([(5, nvidia, ptx(b"k%d" % i for i in range(20 * n)))]),
    "index": lambda n: offload([(5, nvidia + [(b"kdl.kernel.k%d" % i, b"block=64") for i in range(10 * n)], b"x")]),
    "one-kernel": lambda n: offload([(5, nvidia + [(b"kdl.kernel.k", b"block=64")], b"x")] * n),
    "keys": lambda n: offload([(5, nvidia + [(b"key%d" % i, b"value") for i in range(10 * n)], b"x")]),
    "fatbins": lambda n: b"".join(fatbin(ptx([b"k%d" % i])) for i in range(n)),
    "nested": lambda n: offload([(4, nvidia, fatbin(ptx([b"k%d" % i]))) for i in range(n)]),
}
commands = {
    "ls": ["ls", "--long", "--kernels", "@"],
    "json": ["ls", "--json", "--kernels", "@"],
    "verify": ["verify", "@"],
    "explain": ["explain", "--device=h200", "--long", "@"],
    "check": ["check", "--device=h200", "--device=mi300x", "--kernels", "@"],
    "thin": ["thin", "--for=h200,a100", "-v", "-o", "@.out", "@"],
    "merge": ["merge", "-o", "@.out", "@"],
    "annotate": ["annotate", "@", "--image=arch=sm_80", "a=b", "-o", "@.out"],
    "split": ["split", "--dry-run", "-o", "@.parts", "@"],
}
cases = {
    "sequence_kernels": (1000, sequence_kernels),
    "sequence_constants": (1000, sequence_constants),
    "merge": (1500, merge),
    "devices": (1000, subject),
    "level": (1000, subject),
    "tuned_classes": (1000, subject),
    "tuned_variants": (4000, subject),
    "trace": (1000, trace),
    "trace_loaded": (500, trace_modules(True)),
    "trace_unloaded": (500, trace_modules(False)),
    "trace_report": (4000, report),
}


def read(name, command):
    def make(n):
        path = save("%s%d" % (name, n), files[name](n))
        return [kdl] + [word.replace("@", path) if "@" in word else word for word in commands[command]], None

    return make


for name in files:
    for command in commands:
        cases["%s-%s" % (command, name)] = (1000, read(name, command))


def instructions(command, expected):
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = dict(os.environ, OCL_ICD_VENDORS="/nonexistent", KDL_HOST_THREADS="1")
    ran = subprocess.run(tool + command, capture_output=True, text=True, env=environment)
    counted = re.search(r"I\s+refs:\s+([0-9,]+)", ran.stderr)
    if not counted or (ran.returncode not in (0, 1, 2, 3) if expected is None else ran.returncode != expected):
        sys.exit("%s: found exit code %d, expected %s:\n%s" % (" ".join(command), ran.returncode, expected, ran.stderr))
    return int(counted.group(1).replace(",", ""))


os.environ.pop("KDL_CPU", None)  # valgrind's CPU is a lesser one
if not shutil.which("valgrind"):
    print("skipped: valgrind not found")
    sys.exit(77)
failed = False
for name in [case] if case in cases else [name for name in cases if name.endswith("-" + case)]:
    n, make = cases[name]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    less, more = (instructions(*make(count)) for count in (n, 4 * n))
    print("%-20s %11d for %d, %12d for %d: %.2f times, at most %.1f" % (name, less, n, more, 4 * n, more / less, most))
    failed |= more > most * less
shutil.rmtree(folder, ignore_errors=True)
sys.exit(failed)
