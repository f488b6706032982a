# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces programs of CUDA and HIP, and looks at what is printed and written.

    modules_test.py CASE KDL CUDA_PROGRAM HIP_PROGRAM FAKES GOLDEN WORK_FOLDER

CUPTI is a fake that sends what the real one was seen to send: this tests our side. bench/results has the evidence of the real one.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

DEVICE = 'cuda:sm_90 name="NVIDIA H200" driver=13.0'


def fail(text):
    sys.exit(f"FAILED: {text}")


def expect(what, found, expected):
    if found != expected:
        fail(f"{what}: found {found!r}, expected {expected!r}")


def expect_text(text, pattern):
    if not re.search(pattern, text):
        fail(f"found no {pattern!r} in:\n{text}")


class Setup:
    def __init__(self, kdl, cuda, hip, fakes, golden, work):
        self.kdl, self.cuda, self.hip, self.golden, self.work = kdl, cuda, hip, golden, work
        self.cubin = os.path.join(work, "archs.cubin")
        self.environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(fakes, "whole"), "KDL_FAKE_DEVICES": DEVICE,
                            "KDL_CUPTI": os.path.join(fakes, "cupti", "libcupti.so"), "TMPDIR": work}
        subprocess.run([kdl, "extract", os.path.join(golden, "fatbin", "archs.fatbin"), "--image=0", "-o", self.cubin], check=True)

    def run(self, mode, code=0, program=None, **environment):
        """What is printed, and the processes."""
        words = [self.kdl, "trace", "-o", "none.json", "--json=out.json", "--launched=out.list", "--",
                 *(program or [self.cuda, self.cubin, mode])]
        ran = subprocess.run(words, cwd=self.work, env={**self.environment, **environment}, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False, timeout=100)
        expect(f"{mode}: exit code ({ran.stderr})", ran.returncode, code)
        expect("left over", [name for name in os.listdir(self.work) if name.startswith("kdl-trace-")], [])
        with open(os.path.join(self.work, "out.json"), encoding="utf-8") as file:
            report = json.load(file)
        expect("schema", report["schema"], "kdl-modules-1")
        return ran.stderr, report["processes"]

    def list(self):
        with open(os.path.join(self.work, "out.list"), encoding="utf-8") as file:
            return file.read().split()


def launches(process):
    return {kernel["kernel"]: kernel["launches"] for kernel in process["launched"]}


def check_normal(text, process):
    native, compiled = process["modules"]
    expect("native", [native[k] for k in ("module", "origin", "image", "image_kind", "image_arch", "fit", "choices", "bytes", "call", "launched")],
           [23, "image", 0, "cubin", "sm_90a", "arch-specific", 4, 3568, "cuLaunchKernel", ["axpy"]])
    expect("compiled", [compiled[k] for k in ("module", "origin", "image", "image_kind", "choices", "arch", "launched")],
           [24, "jit", 5, "ptx", 2, "sm_90", ["scale"]])
    expect("device", native["device"], "cuda:sm_90 driver=13.0")
    expect_text(text, r"\] module 23: image 0 \(cubin sm_90a\), arch-specific, of 4 images; 3568 bytes, [0-9.]+ ms, in cuLaunchKernel: \S*cuda_program\n")
    expect_text(text, r"\] module 24: sm_90, compiled by the driver \(JIT\) from image 5 \(ptx sm_90\) of 2 images")


def test_normal(s):
    text, (process,) = s.run("normal")
    check_normal(text, process)
    expect("launches", launches(process), {"axpy": 2, "scale": 1})
    expect("list", s.list(), ["axpy", "scale"])
    expect_text(text, r"2 modules, 1 compiled by the driver, 7136 bytes, [0-9.]+ ms; 3 launches of 2 kernels\n +2  axpy\n")
    if "wrote no trace" in text:
        fail(text)


def test_failures(s):
    """Where no image fits, the explanation follows at once, and once."""
    text, (process,) = s.run("fail", KDL_FAKE_DEVICES="cuda:sm_80 driver=13.0")
    expect("failures", [(f["error"], f["call"], f["kernel"]) for f in process["failures"]],
           [(209, "cuLibraryGetKernel", "k"), (209, "cuModuleLoadData", None)])
    expect_text(text, r"(?s)cuLibraryGetKernel failed with error 209, no kernel image is available for execution on the device: k on cuda:sm_80 driver=13.0, "
                r"from \S*cuda_program\ndevice  cuda:sm_80.*arch_specific_exact: built for sm_90a.*chosen  none; the nearest is")
    expect_text(text, r"(?s)cuModuleLoadData failed with error 209.*from memory\ndevice  cuda:sm_80.*chosen  none; the nearest is image 0 \(cubin sm_90a\)")
    expect("explanations", text.count("policy  best"), 2)


def test_eager(s):
    """Without a load call around them, modules are found by their bytes."""
    text, (process,) = s.run("eager")
    expect("modules", [(m["origin"], m["image"], m["ms"] is None, m["call"]) for m in process["modules"]],
           [("image", 0, True, "cuDevicePrimaryCtxRetain"), ("image", 0, True, None), ("unknown", None, True, None)])
    expect_text(text, r"module 7: sm_0 from memory; 64 bytes, in a call that is not observed\n")


def test_file(s):
    _, (process,) = s.run("file")
    (module,) = process["modules"]
    expect("module", [module[k] for k in ("origin", "file", "image", "fit", "choices", "call")],
           ["image", s.cubin, 0, "arch-specific", 1, "cuModuleLoad"])


def test_no_launches(s):
    _, (process,) = s.run("normal", KDL_TRACE_NO_LAUNCHES="1")
    expect("launched", process["launched"], [])
    expect("modules", len(process["modules"]), 2)


def test_threads(s):
    _, (process,) = s.run("threads")
    expect("launches", launches(process), {"axpy": 8002, "scale": 8001})


def test_kernels(s):
    _, (process,) = s.run("kernels")
    expect("kernels", len(process["launched"]), 10002)
    expect("list", len(s.list()), 10002)


def test_graphs(s):
    text, (process,) = s.run("graph")
    expect("graphs", process["graph_launches"], 2)
    expect_text(text, "2 launches of graphs, whose kernels count once, when captured")


def test_unload(s):
    """A handle that is used again for another kernel."""
    _, (process,) = s.run("unload")
    expect("launches", launches(process), {"axpy": 2, "scale": 1, "before": 1, "after": 1})
    expect("unloaded", [m["unloaded"] for m in process["modules"]], [True, False])


def test_fork(s):
    _, processes = s.run("fork")
    expect("launches", sorted((launches(p) for p in processes), key=len),
           [{"axpy": 3, "scale": 1}, {"axpy": 1, "of_the_child": 1}])


def test_cancelled(s):
    """A thread that is cancelled holds no lock of the recording."""
    _, (process,) = s.run("cancelled")
    expect("launches of others", launches(process)["later"], 1)


FULL_DISK = 'mount -t tmpfs -o size=16k tmpfs "$0" && mkdir "$0/t" && head -c 16384 /dev/zero > "$0/fill"; TMPDIR="$0/t" exec "$@"'


def test_full_disk(s):
    """A program runs as ever where its recording has no room."""
    apart = ["unshare", "--map-root-user", "--mount"]
    disk = os.path.join(s.work, "disk")
    os.makedirs(disk)
    if not shutil.which("unshare") or subprocess.run([*apart, "mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False).returncode:
        print("skipped: this process may not mount a tmpfs")
        sys.exit(77)
    ran = subprocess.run([*apart, "sh", "-c", FULL_DISK, disk, s.kdl, "trace", "-o", "none.json", "--", s.cuda, s.cubin, "normal"],
                         cwd=s.work, env=s.environment, capture_output=True, text=True, errors="replace", check=False, timeout=100)
    expect(f"exit code of the program ({ran.stderr})", ran.returncode, 0)
    expect(f"a line that says so ({ran.stderr})", "is not recorded: No space left" in ran.stderr, True)


FULL_LATER = FULL_DISK.replace("16k", "3m").replace("head -c 16384", "head -c 2560000")


def test_full_later(s):
    """Where the disk fills while a program runs, what is not recorded is counted and said."""
    apart = ["unshare", "--map-root-user", "--mount"]
    disk = os.path.join(s.work, "disk")
    os.makedirs(disk)
    if not shutil.which("unshare") or subprocess.run([*apart, "mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False).returncode:
        print("skipped: this process may not mount a tmpfs")
        sys.exit(77)
    ran = subprocess.run([*apart, "sh", "-c", FULL_LATER, disk, s.kdl, "trace", "--json=full.json", "--", s.cuda, s.cubin, "kernels"],
                         cwd=s.work, env=s.environment, capture_output=True, text=True, errors="replace", check=False, timeout=100)
    expect(f"exit code of the program ({ran.stderr})", ran.returncode, 0)
    expect_text(ran.stderr, "lines of the recording could not be written")
    with open(os.path.join(s.work, "full.json")) as file:
        (process,) = json.load(file)["processes"]
    expect("lost lines", process["lost_lines"] > 0, True)
    expect("launches", sum(launches(process).values()) + process["unnamed_launches"], 10003)


def test_limited(s):
    """Files beyond the limit on their size end no program, neither at the start nor later."""
    ran = subprocess.run(["sh", "-c", 'ulimit -f 64 && exec "$@"', "sh", s.kdl, "trace", "--", s.cuda, s.cubin, "normal"],
                         cwd=s.work, env=s.environment, capture_output=True, text=True, errors="replace", check=False, timeout=100)
    expect(f"exit code of the program ({ran.stderr})", ran.returncode, 0)
    expect_text(ran.stderr, "is not recorded: File too large\n")
    text, (process,) = s.run("limited")
    expect_text(text, r"\b1 lines? of the recording could not be written")
    expect("launches", (launches(process), process["unnamed_launches"]), ({"axpy": 2, "scale": 1}, 1))


def test_ends(s):
    """However a program ends, nothing is lost."""
    for mode, code in (("_exit", 3), ("abort", 134), ("kill", 137)):
        text, (process,) = s.run(mode, code)
        check_normal(text, process)
        expect(mode, launches(process), {"axpy": 2, "scale": 1})


def test_missing(s):
    """What cannot be seen is said."""
    text, _ = s.run("normal", KDL_CUPTI="/nonexistent")
    expect_text(text, r"libcupti.so was not found, and without it neither modules nor launches of a CUDA program are seen")
    text, _ = s.run("normal", FAKE_CUPTI_BUSY="1")
    expect_text(text, "CUPTI has another subscriber, a profiler or debugger, and takes only one")
    text, _ = s.run("normal", 2, CUDA_INJECTION64_PATH="/other.so")
    expect_text(text, "CUDA_INJECTION64_PATH names another tool, so that programs of CUDA are not seen")


WRITER = """
import os, random, struct, sys
folder, cubin = os.environ["KDL_TRACE_MODULES"], sys.argv[1]
random.seed(1)
controls = ["\\x1b[31m", "\\x9b2J", "\\u202ek", "\\u2066k", "\\udc9b3J", "\\udcff"]
words = ["", "0", "1", "23", "-1", "99999999999999999999", cubin, "/nonexistent", "cuda:sm_90", "k", "x" * 9000, *controls]
kinds = ["process", "load", "module", "unload", "kernel", "launched", "device", "cupti", "note", "what", ""]
for number in range(60):
    with open(f"{folder}/{number}-0.log", "wb") as log:
        log.write(os.urandom(random.randrange(300)))
        for _ in range(random.randrange(40)):
            line = "\\t".join([random.choice(kinds)] + random.choices(words, k=random.randrange(12)))
            log.write(line.encode("utf-8", "surrogateescape") + b"\\n" * random.randrange(2))
    with open(f"{folder}/{number}-0.counts", "wb") as counts:
        counts.write(os.urandom(random.randrange(100)))
for number, w in enumerate(controls, 60):
    lines = (f"process\\t{number}\\t{w}", f"cupti\\t0\\t{w}", f"note\\t{w}", f"device\\t0\\t{w}", f"kernel\\t5\\t{w}",
             f"load\\t1\\t{w}\\t0\\t5\\t0\\t0\\t{w}", f"module\\t1\\t1\\t5\\t77\\t{w}\\t5\\t0\\t{w}", f"fail\\t1\\t1\\t0\\t{w}\\t{w}\\t{w}")
    with open(f"{folder}/{number}-0.log", "wb") as log:
        log.write("".join(line + "\\n" for line in lines).encode("utf-8", "surrogateescape"))
    with open(f"{folder}/{number}-0.counts", "wb") as counts:
        counts.write(struct.pack("<6Q", 0, 0, 0, 0, 0, 7))
"""


def test_damaged(s):
    """The processes write the recordings, and may write anything."""
    text, processes = s.run("damaged", program=[sys.executable, "-c", WRITER, s.cubin])
    expect("processes", len(processes), 66)
    with open(os.path.join(s.work, "out.json"), encoding="utf-8", errors="surrogateescape") as file:
        text += file.read()
    found = set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]", text))
    expect("control characters", found, set())
    for shown in (r" \?\[31m\n", r" \?\?2J\n", r" \?\?\?k\n", r" \?3J\n", r" \\xff\n"):
        expect_text(text, shown)


HOSTILE = """
import os
stem = os.environ["KDL_TRACE_MODULES"] + "/"
count = 30000
def write(number, text):
    with open(f"{stem}{number}-0.log", "w") as log:
        log.write(f"process\\t{number}\\tp\\n" + text)
os.mkfifo(stem + "1-0.log")
os.symlink("/dev/zero", stem + "2-0.log")
write(4, "")
os.mkfifo(stem + "4-0.counts")
write(5, "kernel\\t5\\t" + "k" * 20000000 + "\\n")
with open(stem + "6-0.log", "w") as log:
    log.truncate(1 << 40)
module = "module\\t{0}\\t7\\t5\\t77\\tsm_90\\t5\\t0\\tf\\n"
write(7, "".join(module.format(i) for i in range(count)) + "load\\t7\\tf\\t0\\t5\\t0\\t0\\t\\n" * count)
write(8, (module.format(1) + "unload\\t1\\n") * count)
"""


def test_hostile(s):
    """What is no recording is passed over; what repeats takes no longer."""
    begin = time.monotonic()
    text, processes = s.run("hostile", program=[sys.executable, "-c", HOSTILE])
    expect("processes", sorted(process["process"] for process in processes if process["process"]), [4, 5, 7, 8])
    expect("modules", text.count("module 1: "), 30001)
    if time.monotonic() - begin > 60:
        fail("it takes quadratic time")


NAMED = """
import os, struct
folder = os.environ["KDL_TRACE_MODULES"]
with open(f"{folder}/1-0.log", "w") as log:
    log.write("process\\t1\\tp\\nkernel\\t5\\t_Z5saxpyIfEvT_\\n")
with open(f"{folder}/1-0.counts", "wb") as counts:
    counts.write(struct.pack("<6Q", 0, 0, 0, 0, 0, 7))
"""


def test_names(s):
    """C++ names are demangled in what is printed, and in no file."""
    text, (process,) = s.run("names", program=[sys.executable, "-c", NAMED])
    expect_text(text, r"\n +7  void saxpy<float>\(float\)\n")
    expect("launches", launches(process), {"_Z5saxpyIfEvT_": 7})
    expect("list", s.list(), ["_Z5saxpyIfEvT_"])


def test_hip(s):
    code = os.path.join(s.golden, "launch", "gfx90a.hsaco")
    gpu = "hip:gfx90a:sramecc+:xnack- driver=6.4.43482"
    text, (process,) = s.run("hip", program=[s.hip, code], KDL_FAKE_DEVICES=gpu)
    (module,) = process["modules"]
    expect("module", [module[k] for k in ("origin", "file", "bytes", "call", "launched")], ["unknown", None, 13888, "hipModuleLoadData", ["empty"]])
    expect("launches", launches(process), {"empty": 5})
    expect_text(text, r"module 1: from memory; 13888 bytes, [0-9.]+ ms, in hipModuleLoadData\n")
    text, (process,) = s.run("hip", 1, program=[s.hip, code], KDL_FAKE_DEVICES="hip:gfx942:sramecc+:xnack- driver=6.4.43482")
    expect_text(text, r"(?s)hipModuleLoadData failed with error \d+.* on hip:gfx942:sramecc\+:xnack- driver=6.4.43482, from memory\n"
                r"device  hip:gfx942.*wrong_arch: built for gfx90a")


def main():
    case, *paths = sys.argv[1:]
    work = paths[-1]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    globals()[f"test_{case}"](Setup(*paths))


if __name__ == "__main__":
    main()
