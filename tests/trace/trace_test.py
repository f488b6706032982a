# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces programs and looks at what comes out.

    trace_test.py CASE KDL TRACED OPENED LIBKDL FAKES HOST_LIBRARY GPU_LIBRARY SAXPY WORK_FOLDER

CASE is the name of a function below, without its "test_".
"""

import collections
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys

GPUS = {
    "cuda": 'cuda:sm_90 name="NVIDIA H200" driver=13.0 memory=1MiB max_block=1024',
    "hip": 'hip:gfx90a:sramecc+:xnack- name="AMD Instinct MI210" driver=6.4.43482 memory=1MiB max_block=1024 units=104',
    "level_zero": 'level_zero:ip=20.1.4 name="Intel Arc B580" memory=1MiB max_block=1024 il=1.4',
    "opencl": "opencl:spirv64 il=1.4 name=CL platform=first memory=1MiB max_block=1024",
}
# The calls by which each driver launches, copies, waits and records events.
CALLS = {
    "cuda": {"launch": "cuLaunchKernel", "write": "cuMemcpyHtoDAsync_v2", "read": "cuMemcpyDtoHAsync_v2",
             "record": "cuEventRecord", "elapsed": "cuEventElapsedTime"},
    "hip": {"launch": "hipModuleLaunchKernel", "write": "hipMemcpyHtoDAsync", "read": "hipMemcpyDtoHAsync",
            "record": "hipEventRecord", "elapsed": "hipEventElapsedTime"},
    "level_zero": {"launch": "zeCommandListAppendLaunchKernel", "record": "zeCommandListAppendWriteGlobalTimestamp"},
    "opencl": {"launch": "clEnqueueNDRangeKernel", "record": "clEnqueueMarkerWithWaitList",
               "elapsed": "clGetEventProfilingInfo"},
}


def fail(text):
    sys.exit(f"FAILED: {text}")


def expect(what, found, expected):
    if found != expected:
        fail(f"{what}: found {found!r}, expected {expected!r}")


class Setup:
    def __init__(self, kdl, traced, opened, libkdl, fakes, host, gpu, example, work):
        self.example = example
        self.kdl, self.traced, self.opened, self.libkdl = kdl, traced, opened, libkdl
        self.fakes, self.host, self.gpu, self.work = fakes, host, gpu, work

    def run(self, mode, count=10, trace="out.json", device="host", library=None, kernel="nothing", code=0, **environment):
        words = [self.traced, mode, device, library or self.host, kernel, str(count)]
        return self.call(words, trace, code, **environment)

    def call(self, words, trace="out.json", code=0, **environment):
        wanted = {**os.environ, **environment}
        if trace:
            wanted["KDL_TRACE"] = trace
        ran = subprocess.run(words, cwd=self.work, env=wanted, capture_output=True, text=True, check=False, timeout=120)
        if ran.returncode != code:
            fail(f"{words}: exit {ran.returncode}, expected {code}: {ran.stderr}")
        return ran.stderr

    def path(self, name):
        return os.path.join(self.work, name)

    def files(self):
        return sorted(os.listdir(self.work))

    def read(self, name="out.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return check(json.load(file))


def check(trace):
    """What the Trace Event Format asks of a file, and what docs/tracing.md promises of ours."""
    about, events = trace["otherData"], trace["traceEvents"]
    expect("schema", about["schema"], "kdl-trace-1")
    expect("unit", trace["displayTimeUnit"], "ns")
    spans = [e for e in events if e["ph"] == "X"]
    expect("events", len(spans), about["events"])
    named = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for event in events:
        if event["ph"] not in "XMi" or not isinstance(event["name"], str) or event["pid"] != about["process"]:
            fail(f"event: {event}")
    for span in spans:
        if span["ts"] <= 0 or span["dur"] < 0 or span["cat"] not in ("kdl", "device") or not isinstance(span["args"], dict):
            fail(f"span: {span}")
        if span["tid"] not in named:
            fail(f"a row without a name: {span}")
    for row in named:
        nest(sorted((round(s["ts"] * 1000), -round(s["dur"] * 1000), s["name"]) for s in spans if s["tid"] == row and s["cat"] == "kdl"))
    return trace


def nest(spans):
    """Spans of a thread lie in each other or apart."""
    stack = []
    for span in spans:
        while stack and stack[-1] <= span[0]:
            stack.pop()
        end = span[0] - span[1]
        if stack and end > stack[-1]:
            fail(f"overlaps: {span}, {stack[-1]}")
        stack.append(end)


def counts(trace):
    return collections.Counter(e["name"] for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "kdl")


def spans(trace, name):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == name]


def test_host(s):
    expect("messages", s.run("launch"), "")
    trace = s.read()
    found = counts(trace)
    expect("layers", {k: found[k] for k in ("open", "enumerate", "context", "load", "resolve", "launch", "write", "read", "allocate", "free")},
           {"open": 1, "enumerate": 1, "context": 1, "load": 1, "resolve": 1, "launch": 10, "write": 1, "read": 1, "allocate": 1, "free": 1})
    launch = spans(trace, "launch")[3]["args"]
    expect("kernel", launch["kernel"], "nothing")
    expect("image", launch["image"], 0)
    expect("kind", launch["kind"], "object")
    expect("grid", (launch["grid"], launch["block"], launch["queue"]), ("2x1x1", "1x1x1", 0))
    if not launch["device"].startswith("host:") or launch["library"] != s.host:
        fail(f"launch: {launch}")
    expect("bytes", [spans(trace, n)[0]["args"]["bytes"] for n in ("write", "read", "allocate")], [64, 32, 64])
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"]
    expect("names", names, ["traced", "traced"])
    # Off, there is nothing.
    s.run("launch", trace=None)
    expect("files", s.files(), ["out.json"])
    # With device time, the host's is the launch's.
    s.run("launch", KDL_TRACE_GPU="1")
    trace = s.read()
    timed = [e for e in trace["traceEvents"] if e.get("cat") == "device"]
    expect("device time", [len(timed), trace["otherData"]["device_time"]], [10, True])
    row = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}[timed[0]["tid"]]
    if not re.fullmatch(r"host:.*, queue 0", row):
        fail(f"row: {row}")


def test_threads(s):
    s.run("threads", count=500)
    trace = s.read()
    expect("launches", counts(trace)["launch"], 8 * 500)
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    if not {f'worker "{i}"' for i in range(8)} <= names:
        fail(f"names: {names}")
    by_row = collections.Counter(e["tid"] for e in spans(trace, "launch"))
    expect("rows", sorted(by_row.values()), [500] * 8)
    # Threads that end leave their buffers to others, and their records under their own names.
    s.run("turns", count=5, KDL_TRACE_SIZE="128K")
    trace = s.read()
    expect("turns", [counts(trace)["launch"], trace["otherData"]["dropped"]], [500, 0])


def test_overflow(s):
    said = s.run("launch", count=5000, KDL_TRACE_SIZE="64K")
    trace = s.read()
    about = trace["otherData"]
    expect("kept", about["events"], 1023)
    # 14 events beside the launches: what the first test counts, and the end of the queue
    whole = s.run("launch", count=5000, trace="whole.json")
    expect("messages", whole, "")
    expect("all", about["events"] + about["dropped"], s.read("whole.json")["otherData"]["events"])
    marks = [e for e in trace["traceEvents"] if e["ph"] == "i"]
    expect("mark", [m["name"] for m in marks], [f"{about['dropped']} events were dropped: the buffers were full"])
    expect("said", said, f"kdl: KDL_TRACE: {s.path('out.json')}: {about['dropped']} events were dropped: they did not fit in 65536 bytes (KDL_TRACE_SIZE)\n")


def test_fork(s):
    s.run("fork", code=7)
    names = s.files()
    if len(names) != 2 or names[0] != "out.json" or not re.fullmatch(r"out[.]json[.]\d+", names[1]):
        fail(f"files: {names}")
    parent, child = s.read(), s.read(names[1])
    expect("launches", [counts(parent)["launch"], counts(child)["launch"]], [10, 3])
    expect("child", str(child["otherData"]["process"]), names[1].split(".")[-1])
    # A child that executes another program is a process of its own: neither overwrites the other.
    shutil.rmtree(s.work)
    os.mkdir(s.work)
    s.run("exec")
    names = s.files()
    expect("files", len(names), 2)
    expect("both", sorted(counts(s.read(n))["launch"] for n in names), [4, 10])
    # `kdl trace` knows whose the name is.
    shutil.rmtree(s.work)
    os.mkdir(s.work)
    s.call([s.kdl, "trace", "-o", "own.json", "--", s.traced, "exec", "host", s.host, "nothing", "10"], trace=None)
    expect("own", counts(s.read("own.json"))["launch"], 10)
    expect("files", len(s.files()), 2)
    # %p is the process.
    s.run("launch", trace="p%p.json")
    expect("%p", len([n for n in s.files() if re.fullmatch(r"p\d+[.]json", n)]), 1)


def test_ends(s):
    s.run("_exit", code=5)
    s.run("abort", code=-6)
    s.run("nothing")
    expect("no trace", s.files(), [])
    s.call([s.opened, s.host, s.libkdl])
    expect("dlclose", counts(s.read()), {"open": 1})
    # Two copies of libkdl in a process: each has a file.
    os.remove(s.path("out.json"))
    other = s.work + ".other.so"
    shutil.copy(s.libkdl, other)
    s.call([s.opened, s.host, s.libkdl, other])
    names = s.files()
    expect("copies", [len(names), names[0], *(counts(s.read(n)) for n in names)], [2, "out.json", {"open": 1}, {"open": 1}])
    os.remove(s.path(names[1]))
    # An older file is replaced, and stays where it cannot be.
    before = s.read()["otherData"]["process"]
    s.run("launch")
    if s.read()["otherData"]["process"] == before:
        fail("an older file was kept")
    expect("files", s.files(), ["out.json"])


def test_unwritable(s):
    said = s.run("launch", trace="no/such/folder/out.json")
    expect("folder", said, "kdl: KDL_TRACE: no/such/folder/out.json: cannot create a file there: No such file or directory; there is no trace\n")
    os.mkdir(s.path("folder"))
    said = s.run("launch", trace="folder")
    expect("directory", said, "kdl: KDL_TRACE: folder: cannot write: found a directory, device, pipe or socket, expected a regular file; there is no trace\n")
    said = s.run("launch", KDL_TRACE_SIZE="many")
    expect("size", said, 'kdl: KDL_TRACE: KDL_TRACE_SIZE: found "many", expected a number of bytes, as 536870912, 512M or 2G; there is no trace\n')
    # A disk that is full when the program ends: what was there stays.
    with open(s.path("out.json"), "w", encoding="utf-8") as file:
        file.write("old")
    words = f'ulimit -f 64; trap "" XFSZ; exec "{s.traced}" launch host "{s.host}" nothing 1000'
    said = s.call(["sh", "-c", words])
    expect("full", said, f"kdl: KDL_TRACE: {s.path('out.json')}: cannot write: File too large; there is no trace\n")
    with open(s.path("out.json"), encoding="utf-8") as file:
        expect("old", file.read(), "old")
    expect("nothing beside", s.files(), ["folder", "out.json"])


def test_fakes(s):
    for backend, spec in GPUS.items():
        log = s.path("calls")
        fake = {"LD_LIBRARY_PATH": os.path.join(s.fakes, "whole"), "KDL_FAKE_DEVICES": spec, "KDL_FAKE_LOG": log, "OCL_ICD_VENDORS": ""}

        def calls(**more):
            if os.path.exists(log):
                os.remove(log)
            s.run("launch", count=20, device=backend, library=s.gpu, **fake, **more)
            with open(log, encoding="utf-8") as file:
                return collections.Counter(line.strip() for line in file)

        plain = calls(trace=None)
        traced = calls()
        trace = s.read()
        # Tracing asks the driver for nothing.
        expect(f"{backend}: calls", traced, plain)
        expect(f"{backend}: launches", [counts(trace)["launch"], traced[CALLS[backend]["launch"]]], [20, 20])
        for layer in ("write", "read"):
            if layer in CALLS[backend]:
                expect(f"{backend}: {layer}", counts(trace)[layer], traced[CALLS[backend][layer]])
        launch = spans(trace, "launch")[0]["args"]
        if not launch["device"].startswith(f"{backend}:0 "):
            fail(f"{backend}: device {launch['device']}")
        found = counts(trace)
        if not found["driver dlopen"] or not found["driver init"] or found["load"] != 1 or found["resolve"] != 1:
            fail(f"{backend}: layers {found}")
        # Device time: an event before each launch, one behind, and the anchor.
        timed = calls(KDL_TRACE_GPU="1")
        trace = s.read()
        on_device = [e for e in trace["traceEvents"] if e.get("cat") == "device"]
        expect(f"{backend}: device time", [len(on_device), trace["otherData"]["device_times_lost"]], [20, 0])
        expect(f"{backend}: records", timed[CALLS[backend]["record"]] - plain[CALLS[backend]["record"]], 41)
        for event, submitted in zip(sorted(on_device, key=lambda e: e["ts"]), sorted(spans(trace, "launch"), key=lambda e: e["ts"])):
            expect(f"{backend}: name", [event["name"], event["args"]["queue"]], ["nothing", 0])
            if event["ts"] < submitted["ts"]:
                fail(f"{backend}: on the device before it was launched: {event}, {submitted}")
        print(f"{backend}: {sum(plain.values())} calls, {sum(timed.values())} with device time")


def test_clocks(s):
    """Where kernels lie on the time line, with devices that are dated by the host's clock: behind their launches, and before the end of
    the wait for them, however the calls that learn the difference of the clocks are held up."""
    records = {b: c["record"] for b, c in CALLS.items()}
    waits = {"cuda": "cuEventSynchronize", "hip": "hipEventSynchronize", "level_zero": "zeEventHostSynchronize", "opencl": "clWaitForEvents"}
    for backend, spec in GPUS.items():
        # Nothing; the anchor's record takes 30 ms before the device passes it; the wait for it takes 30 ms more; the third launch does.
        for held_up in ("", f"{records[backend]}:1:sleep=30", f"{waits[backend]}:1:sleep=30", f"{CALLS[backend]['launch']}:3:sleep=30",
                        f"{records[backend]}:6:sleep=30"):
            fake = {"LD_LIBRARY_PATH": os.path.join(s.fakes, "whole"), "KDL_FAKE_DEVICES": spec, "OCL_ICD_VENDORS": "",
                    "KDL_FAKE_SETTINGS": f"{backend}.clock=host", "KDL_FAKE_FAIL": held_up}
            s.run("launch", count=20, device=backend, library=s.gpu, KDL_TRACE_GPU="1", **fake)
            trace = s.read()
            on_device = sorted((e for e in trace["traceEvents"] if e.get("cat") == "device"), key=lambda e: e["ts"])
            launches = sorted(spans(trace, "launch"), key=lambda e: e["ts"])
            waited = max(e["ts"] + e["dur"] for e in spans(trace, "synchronise"))
            expect(f"{backend}: device time", [len(on_device), len(launches)], [20, 20])
            for event, launch in zip(on_device, launches):
                end = event["ts"] + event["dur"]
                # The device passes the second event behind the launch; clocks are read to the ns, and CUDA's and HIP's times are floats of ms.
                if event["ts"] < launch["ts"] or end < launch["ts"] + launch["dur"] - held(launches) or end > waited + 5:
                    fail(f"{backend}, {held_up!r}: {event} does not lie between {launch} and {waited}")


def held(launches):
    """How far a kernel may be placed too early: half of what passed between the calls that tell of the clocks, at the most."""
    return min(b["ts"] - a["ts"] for a, b in zip(launches, launches[1:])) / 2 + 1000


def level_zero_loader():
    """The version of Intel's loader, by the name of its file."""
    ctypes.CDLL("libze_loader.so.1")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"libze_loader\.so\.(\d+)\.(\d+)", maps.read())
    return tuple(map(int, found.groups())) if found else (0, 0)


def test_closing(s):
    """What is alive in the driver when the process ends."""
    for backend, spec in GPUS.items():
        for age in ("whole",) if backend == "hip" else ("whole", "old"):
            log = s.path("calls")
            fake = {"LD_LIBRARY_PATH": os.path.join(s.fakes, age), "KDL_FAKE_DEVICES": spec, "KDL_FAKE_LOG": log, "OCL_ICD_VENDORS": ""}

            def alive(mode, code=0, **more):
                if os.path.exists(log):
                    os.remove(log)
                said = s.run(mode, count=3, device=backend, library=s.gpu, code=code, **fake, **more)
                with open(log, encoding="utf-8") as file:
                    lines = file.read().splitlines()
                # libkdl closes devices on a thread that has a driver's objects; the program's own handlers have not.
                if mode in ("launch", "threads"):
                    expect(f"{backend} {age}: {mode}: called at exit", [line for line in lines if line.startswith("without")], [])
                return said, [line.split(": ")[1] for line in lines if line.startswith("alive at exit: ")]

            # Everything was given back: so does libkdl.
            for more in ({"trace": None}, {}, {"KDL_TRACE_GPU": "1"}):
                expect(f"{backend} {age}: alive", alive("launch", **more), ("", []))
                expect(f"{backend} {age}: alive behind threads", alive("threads", **more), ("", []))
            # What the program holds is left alone, and so is what it needs.
            said, left = alive("leave", trace=None)
            if said or "2 stream" not in left:
                fail(f"{backend} {age}: left open: {said}, {left}")
            # It may be given back behind libkdl's handler; the device's own queue stays then.
            said, left = alive("between", trace=None)
            if said or "1 stream" not in left:
                fail(f"{backend} {age}: closed late: {said}, {left}")
            # The driver has ended: it is not called any more, and everything stays.
            # What is given back to a driver that has ended is forgotten: LeakSanitizer calls that a leak.
            said, left = alive("late", trace=None, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
            if said or "2 stream" not in left:
                fail(f"{backend} {age}: closed behind the driver's end: {said}, {left}")
            said, left = alive("launch_late", trace=None)
            if not re.fullmatch(rf"late: {backend}.*: its driver has ended: the process is ending\n", said):
                fail(f"{backend} {age}: launched behind the driver's end: {said}, {left}")
            said, left = alive("ask_late", trace=None)
            if not re.fullmatch(rf"late: kdl_alloc: 64 bytes: {backend}.*: it was closed: the process is ending\n", said) or left:
                fail(f"{backend} {age}: asked late: {said}, {left}")
        print(f"{backend}: nothing is alive")
    # The same behind Intel's own loader, whose layer knows what is alive and what is used after its end.
    driver = os.path.join(s.fakes, "driver", "libze_fake.so.1")
    if not os.path.exists(driver):
        print("Level Zero's loader was not tried: its headers are not here (Debian: libze-dev)")
        return
    log = s.path("calls")
    if level_zero_loader() >= (1, 9):
        print("Level Zero's loader was not tried: its version is later than 1.8 (docs/backends.md)")
        return
    loader = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_HANDLE_LIFETIME": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1",
              "ZE_ENABLE_ALT_DRIVERS": driver, "KDL_FAKE_SETTINGS": "level_zero.version=0x10004", "KDL_FAKE_LOG": log,
              "KDL_FAKE_DEVICES": GPUS["level_zero"]}
    for mode in ("launch", "leave", "late"):
        if os.path.exists(log):
            os.remove(log)
        forgets = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} if mode == "late" else {}
        expect(f"loader: {mode}", s.run(mode, count=3, device="level_zero", library=s.gpu, KDL_TRACE_GPU="1", **loader, **forgets), "")
        with open(log, encoding="utf-8") as file:
            left = [line for line in file if line.startswith("alive at exit: ")]
        if bool(left) == (mode == "launch"):
            fail(f"loader: {mode}: {left}")
    print("Level Zero's loader: nothing is alive")


def test_sequence(s):
    # On the host, a run has the launches of its kernels beneath it.
    s.run("sequence", count=5)
    launches = spans(s.read(), "launch")
    runs = [e for e in launches if e["args"]["kernel"].startswith("sequence of ")]
    expect("runs", [e["args"]["kernel"] for e in runs], ["sequence of 5 launches: nothing"] * 2)
    kernels = [e for e in launches if e["args"]["kernel"] == "nothing"]
    expect("kernels", len(kernels), 10)
    for run in runs:
        beneath = [k for k in kernels if run["ts"] <= k["ts"] and k["ts"] + k["dur"] <= run["ts"] + run["dur"]]
        expect("beneath", len(beneath), 5)
    # A driver's graph is one launch, and timed as one.
    for backend in ("cuda", "hip"):
        s.run("sequence", count=5, device=backend, library=s.gpu, LD_LIBRARY_PATH=f"{s.fakes}/whole",
              KDL_FAKE_DEVICES=GPUS[backend], KDL_TRACE_GPU="1")
        trace = s.read()
        expect(backend, [e["args"]["kernel"] for e in spans(trace, "launch")], ["sequence of 5 launches: nothing"] * 2)
        expect("times", len([e for e in trace["traceEvents"] if e.get("cat") == "device"]), 2)


def test_docs(s):
    """The commands of the page run, and make what it says."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "tracing.md")
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)
    commands = [line for block in blocks for line in block.splitlines()]
    if len(commands) < 4:
        fail(f"commands: {commands}")
    shutil.copy(s.example, s.path("saxpy.offload"))
    for command in commands:
        ran = subprocess.run(["sh", "-c", command], cwd=s.work, capture_output=True, text=True, check=False, timeout=60,
                             env={**os.environ, "PATH": os.path.dirname(s.kdl) + os.pathsep + os.environ["PATH"]})
        if ran.returncode != 0 or not ran.stdout:
            fail(f"{command}: exit {ran.returncode}: {ran.stdout}{ran.stderr}")
    expect("files", s.files(), ["out.folded", "out.json", "report.html", "report.json", "saxpy.offload"])
    with open(s.path("out.folded"), encoding="utf-8") as file:
        expect("folded", ran.stdout, file.read())
    with open(s.path("report.json"), encoding="utf-8") as file:
        report = json.load(file)
    expect("members", sorted(report), sorted(["schema", "libkdl", "command", "started", "process", "device_time", "events", "dropped", "names_lost",
                                              "device_times_lost", "span", "own_total", "layers", "kernels", "devices", "frames"]))
    expect("kernel", [(k["name"], k["launches"]["count"], k["on_device"]["count"]) for k in report["kernels"]], [("saxpy", 1, 1)])
    own = sum(f["own"] for f in report["frames"])
    layers = sum(l["own"] for l in report["layers"]) + report["devices"][0]["kernels"]
    if abs(own - layers) > 1:
        fail(f"the frames have {own} ns, the layers and kernels {layers}")


def main():
    setup = Setup(*sys.argv[2:])
    shutil.rmtree(setup.work, ignore_errors=True)
    os.makedirs(setup.work)
    globals()["test_" + sys.argv[1]](setup)


if __name__ == "__main__":
    main()
