#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs MLIR's own tests with libkdl's plugin loaded.

    mlir-tests.py BUILD [--source=SOURCES] [--work=FOLDER] [--llvm=PREFIX] [--only=plugin,passes,programs,gpu]

BUILD is a build of libkdl or its installation. SOURCES is a checkout of LLVM, or its tarball, of the version that is in PREFIX (/usr/lib/llvm-22);
without it they come from Debian (`apt-get source`, 200 MB) and are kept in the folder of --work.

  plugin    every test of linalg and tensor, and each other one with pack, unpack or mmt4d in it, by mlir-opt as it is and by mlir-opt with the
            plugin: the results are the same, test by test
  passes    the inputs of these tests through libkdl's passes, split where the tests split them: no pass crashes
  programs  MLIR's integration tests of linalg and tensor through kdl-lower-linalg and kdl-mlir, checked by their own CHECK lines
  gpu       MLIR's integration tests of GPUs, which are for CUDA, ROCm, Level Zero, SYCL, SPIR-V and Vulkan, compiled for the CPU and run there,
            checked by their own CHECK lines
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

PACKED = re.compile(r"linalg\.(un)?pack\b|mmt4d|data-layout-propagation|block-pack")
FOLDERS = ["Dialect/Linalg", "Dialect/Tensor", "Integration/Dialect/Linalg/CPU", "Integration/Dialect/Tensor"]
PIPELINES = ["kdl-data-tile{target=host:x86-64-v4+avx512_bf16+avx512_vnni}",
             "kdl-data-tile{target=host:x86-64-v4+avx512_bf16+amx_tile+amx_bf16+amx_int8},kdl-fuse-tiles{target=host:x86-64-v4+avx512_bf16}",
             "kdl-lower-linalg{target=host:x86-64-v3 threads=true}"]
STOCK = ("canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},canonicalize,"
         "func.func(promote-buffers-to-stack,convert-linalg-to-loops),convert-vector-to-scf,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
         "convert-to-llvm")
# What a program needs before kdl-lower-linalg, which begins with linalg.
BEFORE = {"test-elementwise.mlir": "convert-elementwise-to-linalg,"}
# Programs that check something else than what their operations mean.
OTHER = {"test-matmul-masked-vec.mlir": "its schedule computes a part of the product, and that part is checked",
         "runtime-verification.mlir": "goes on after assertions that fail, which lowering to LLVM has to be told"}
# Of the tests of GPUs, those that check a vendor's code or tools, and folders of them.
VENDOR = {"CUDA/TensorCore": "NVIDIA's matrix instructions", "CUDA/sm90": "NVIDIA's instructions of sm_90",
          "CUDA/command-line-arg.mlir": "checks how ptxas is called", "CUDA/dump-ptx.mlir": "checks PTX", "CUDA/dump-sass.mlir": "checks SASS",
          "ROCM/vector-transferops.mlir": "AMD's buffer instructions", "Vulkan/time.mlir": "checks the times that Vulkan's runtime prints"}
GPU = "gpu-kernel-outlining,kdl-lower-to-binary{targets=host}"
# async.execute with the passes that the test runs; its coroutines need a level.
GPU_ASYNC = ("gpu-kernel-outlining,kdl-attach-targets{targets=host},kdl-compile-targets,gpu-module-to-binary,"
             "kdl-mark-runtime-select{min-objects=1 fallback=host},func.func(gpu-async-region),gpu-to-llvm,reconcile-unrealized-casts,"
             "async-to-async-runtime,async-runtime-ref-counting,convert-async-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,"
             "convert-cf-to-llvm,reconcile-unrealized-casts")
# A launch whose assertion fails is an error here; MLIR's runtime for CUDA prints it and goes on.
FAILS = {"CUDA/assert.mlir"}
# What the runtimes of SPIR-V and Vulkan have and Debian does not pack.
FILL = """
#include <stdint.h>
#define FILL(before, after, type) \\
  void before##1D##after(type *a, type *p, int64_t o, int64_t n, int64_t s, type v) { for (int64_t i = 0; i < n; ++i) p[o + i * s] = v; } \\
  void before##2D##after(type *a, type *p, int64_t o, int64_t n, int64_t m, int64_t s, int64_t t, type v) { \\
    for (int64_t i = 0; i < n; ++i) before##1D##after(a, p, o + i * s, m, t, v); } \\
  void before##3D##after(type *a, type *p, int64_t o, int64_t n, int64_t m, int64_t k, int64_t s, int64_t t, int64_t u, type v) { \\
    for (int64_t i = 0; i < n; ++i) before##2D##after(a, p, o + i * s, m, k, t, u, v); }
FILL(fillF32Buffer, , float)
FILL(fillResource, Float, float)
FILL(fillResource, Int, int32_t)
FILL(fillResource, Int8, int8_t)
void fillI32Buffer(int32_t *a, int32_t *p, int64_t o, int64_t n, int64_t s, int32_t v) { fillResource1DInt(a, p, o, n, s, v); }
"""
LLVM = pathlib.Path("/usr/lib/llvm-22")


def fail(words):
    sys.exit(f"mlir-tests.py: {words}")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", **options)


def tool(name):
    for path in (LLVM / "bin" / name, shutil.which(f"{name}-{LLVM.name.removeprefix('llvm-')}"), shutil.which(name)):
        if path and os.path.exists(path):
            return str(path)
    return fail(f"found no {name}")


def debian_sources(work):
    """The tarball of LLVM's sources, as apt finds it: where this machine's packages come from, else among Debian's newest."""
    version = run(tool("mlir-opt"), "--version").stdout
    version = re.search(r"LLVM version ([0-9.]+)", version)[1]
    for name in work.glob(f"*_{version}.orig.tar.xz"):
        return name
    deb822 = "\n".join(path.read_text() for path in sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")))
    stanzas = [text for text in re.split(r"\n\s*\n", deb822) if "debian" in text]
    mirror = re.search(r"^URIs:\s*(\S+?/debian/?)(\s|$)", deb822, re.MULTILINE)
    lists = ["\n\n".join(re.sub(r"^Types:.*", "Types: deb-src", text, flags=re.MULTILINE) for text in stanzas)]
    if mirror:
        lists.append(f"Types: deb-src\nURIs: {mirror[1]}\nSuites: sid\nComponents: main\n"
                     "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    for i, text in enumerate(lists):
        (work / f"{i}.sources").write_text(text + "\n")
        (work / f"lists{i}" / "partial").mkdir(parents=True, exist_ok=True)
        options = ["-q", "-o", f"Dir::Etc::sourcelist={work}/{i}.sources", "-o", "Dir::Etc::sourceparts=-", "-o",
                   f"Dir::State::Lists={work}/lists{i}", "-o", "APT::Sandbox::User="]
        run("apt-get", *options, "update")
        run("apt-get", *options, "source", "--download-only", "--tar-only", "llvm-toolchain-22", cwd=work)
        for name in work.glob(f"*_{version}.orig.tar.xz"):
            return name
    return fail(f"apt-get source gave no sources of LLVM {version}: give a checkout by --source=FOLDER")


def mlir_test(options):
    """The folder mlir/test."""
    if options.source and options.source.is_dir():
        folder = options.source / "mlir" / "test"
        return folder if folder.is_dir() else fail(f"{options.source}: found no mlir/test")
    marker = options.work / "mlir-test"
    if not marker.exists():
        new = options.work / "mlir-test.new"
        shutil.rmtree(new, ignore_errors=True)
        with tarfile.open(options.source or debian_sources(options.work)) as archive:
            for member in archive:
                at = member.name.find("/mlir/test/")
                if at >= 0 and member.isfile():
                    member.name = member.name[at + len("/mlir/test/"):]
                    archive.extract(member, new, filter="data")
        new.rename(marker)
    return marker


def selected(root):
    """Paths below mlir/test, without those that lit leaves out."""
    found = set()
    for path in root.rglob("*.mlir"):
        name = path.relative_to(root).as_posix()
        if "/td/" in name or "Arm" in name or "GPU" in name:
            continue
        if any(name.startswith(folder + "/") for folder in FOLDERS) or PACKED.search(path.read_text(errors="replace")):
            found.add(name)
    return sorted(found)


CONFIG = """
import lit.formats, os
config.name = "MLIR"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = {root!r}
config.test_exec_root = {work!r}
config.mlir_include_integration_tests = True
config.enable_assertions = False
config.mlir_lib_dir, config.llvm_shlib_ext = {llvm!r} + "/lib", ".so"
for name in {asked!r}: # what MLIR's own configuration says of emulators and devices: there are none
    if not hasattr(config, name):
        setattr(config, name, "")
config.environment["PATH"] = {llvm!r} + "/bin:" + os.environ["PATH"]
config.available_features.update(["host-supports-jit", "noasserts"])
config.substitutions += [(r"\\bmlir-opt\\b", {opt!r}), ("%mlir_src_dir", {root!r} + "/.."), ("%mlir_lib_dir", {llvm!r} + "/lib")]
config.substitutions += [("%" + name + r"\\b", {llvm!r} + "/lib/lib" + name + ".so")
                         for name in ("mlir_runner_utils", "mlir_c_runner_utils", "mlir_async_runtime")]
"""


def lit(options, root, names, label, opt):
    """What became of each test."""
    work = options.work / label
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    asked = {name for path in root.rglob("lit.local.cfg") for name in re.findall(r"\bconfig\.([a-z_]+)", path.read_text())}
    (work / "lit.site.cfg.py").write_text(CONFIG.format(root=str(root), work=str(work / "out"), llvm=str(LLVM), opt=opt, asked=sorted(asked)))
    done = run(tool("lit"), "-q", "--no-progress-bar", "--ignore-fail", "-o", work / "results.json", *(work / name for name in names))
    if not (work / "results.json").exists():
        fail(f"lit: {done.stderr.strip()[-400:] or done.stdout.strip()[-400:]}")
    tests = json.loads((work / "results.json").read_text())["tests"]
    return {test["name"].removeprefix("MLIR :: "): test["code"] for test in tests}


def summary(results):
    codes = list(results.values())
    return ", ".join(f"{codes.count(code)} {code}" for code in sorted(set(codes)))


def compare_plugin(options, root, names, plugin):
    stock = lit(options, root, names, "without", "mlir-opt")
    loaded = lit(options, root, names, "with", f"mlir-opt --load-dialect-plugin={plugin} --load-pass-plugin={plugin}")
    packed = [name for name in stock if PACKED.search((root / name).read_text(errors="replace"))]
    for what, chosen in (("all", stock), ("pack, unpack, mmt4d, propagation", packed)):
        for label, results in (("without", stock), ("with", loaded)):
            print(f"{what}, {label} the plugin: {summary({n: results.get(n) for n in chosen})} of {len(chosen)}")
    changed = [name for name in stock if loaded.get(name) != stock[name]]
    for name in changed:
        print(f"  {name}: {stock[name]} without, {loaded.get(name)} with")
    for name, code in stock.items():
        if code not in ("PASS", "UNSUPPORTED") and name not in changed:
            print(f"  {name}: {code} either way")
    return not changed and len(stock) > 0


def try_pipeline(pipeline, plugin, text):
    """How mlir-opt ended: 0, 1 for an input that is refused, or a signal."""
    load = [f"--load-dialect-plugin={plugin}"] if plugin else []
    return run(tool("mlir-opt"), *load, "--allow-unregistered-dialect", "--split-input-file", "-o", "/dev/null",
               f"--pass-pipeline=builtin.module({pipeline})", input=text).returncode


def crash_passes(options, root, names, plugin):
    crashed, ran = 0, 0
    for name in names:
        text = (root / name).read_text(errors="replace")
        for pipeline in PIPELINES:
            ran += 1
            if try_pipeline(pipeline, plugin, text) in (0, 1):
                continue
            # Which part it is, and whether MLIR does without the plugin.
            for i, part in enumerate(re.split(r"^// -----.*$", text, flags=re.MULTILINE)):
                if try_pipeline(pipeline, plugin, part) in (0, 1):
                    continue
                by_itself = try_pipeline(STOCK, None, part) not in (0, 1)
                crashed += not by_itself
                print(f"  {name}, part {i}: {pipeline}: crashed" + (", as MLIR's own passes do" if by_itself else ""))
    print(f"passes: {ran} runs on {len(names)} files, {crashed} crashes")
    return crashed == 0 and ran > 0


def run_programs(options, root, plugin):
    failures, counts = [], {"PASS": 0, "calls": 0}
    opt, check = tool("mlir-opt"), tool("FileCheck")
    libraries = [f"--shared-libs={LLVM}/lib/lib{name}.so" for name in ("mlir_runner_utils", "mlir_c_runner_utils")]
    for path in sorted(path for folder in FOLDERS[2:] for path in (root / folder).glob("*.mlir")):
        text = path.read_text()
        entry = re.search(r"%\{entry_point\} = (\w+)|-e[ =](\w+)", text)
        name = path.relative_to(root).as_posix()
        other = [why for end, why in OTHER.items() if name.endswith(end)]
        if other:
            print(f"  {name}: left out: {other[0]}")
            continue
        before = BEFORE.get(path.name, "")
        lowered = run(opt, f"--load-dialect-plugin={plugin}", path, "--pass-pipeline=builtin.module(test-transform-dialect-erase-schedule,"
                      + before + "kdl-lower-linalg{target=host})")
        why = "" if lowered.returncode == 0 else "kdl-lower-linalg: " + lowered.stderr.strip()[:300]
        if not why:
            ran = run(options.build / "bin" / "kdl-mlir", "run", "-e", (entry[1] or entry[2]) if entry else "main", "--entry-point-result=void",
                      *libraries, input=lowered.stdout)
            checked = run(check, path, "--allow-empty", input=ran.stdout + ran.stderr)
            why = ran.stderr.strip()[:300] if ran.returncode else checked.stderr.strip()[:300] if checked.returncode else ""
        calls = lowered.stdout.count("llvm.call @kdl_uk_mma")
        counts["calls"] += calls
        counts["PASS"] += not why
        print(f"  {name}: {'PASS' if not why else 'FAIL'}, {calls} calls of microkernels")
        if why:
            failures.append(name)
            print("    " + why.replace("\n", "\n    "))
    print(f"programs: {counts['PASS']} PASS, {len(failures)} FAIL, {counts['calls']} calls of microkernels")
    return not failures and counts["PASS"] > 0


def left_out(name):
    """Why a test of GPUs has no meaning on a CPU; empty if it has."""
    return next((why for start, why in VENDOR.items() if name.startswith(start)), "")


def run_gpu_test(options, path, name, plugin, libraries):
    """The reason of its failure; empty if it passes."""
    text = path.read_text()
    is_async = "async.execute" in text
    lowered = run(tool("mlir-opt"), f"--load-dialect-plugin={plugin}", path, f"--pass-pipeline=builtin.module({GPU_ASYNC if is_async else GPU})")
    if lowered.returncode:
        return lowered.stderr.strip()
    entry = re.search(r"-e[ =](\w+)", text)
    try:
        ran = run(options.build / "bin" / "kdl-mlir", "run", "-e", entry[1] if entry else "main", "--entry-point-result=void",
                  *(["-O0"] if is_async else []), *libraries, input=lowered.stdout, timeout=60)
    except subprocess.TimeoutExpired:
        return "did not end in 60 s"
    if (ran.returncode != 0) != (name in FAILS):
        return ran.stderr.strip() or f"ended with {ran.returncode}"
    if not re.search(r"// *CHECK", text):
        return ""
    checked = run(tool("FileCheck"), path, input=ran.stdout + ran.stderr)
    return checked.stderr.strip() if checked.returncode else ""


def run_gpu(options, root, plugin):
    fill = options.work / "fill.so"
    made = run(tool("clang"), "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", fill, input=FILL)
    if made.returncode:
        fail(f"clang: {made.stderr.strip()[:400]}")
    libraries = [f"--shared-libs={name}" for name in (options.build / "lib" / "libkdl_mlir_runtime.so", fill)]
    libraries += [f"--shared-libs={LLVM}/lib/lib{name}.so" for name in ("mlir_runner_utils", "mlir_c_runner_utils", "mlir_async_runtime")]
    counts = {"PASS": 0, "FAIL": 0, "left out": 0}
    folder = root / "Integration" / "GPU"
    for path in sorted(folder.rglob("*.mlir")):
        name = path.relative_to(folder).as_posix()
        if "/td/" in name:
            continue
        why = left_out(name)
        what = "left out"
        if not why:
            why = run_gpu_test(options, path, name, plugin, libraries)
            what = "FAIL" if why else "PASS"
        counts[what] += 1
        print(f"  {name}: {what}" + (f": {why[:300]}".replace("\n", "\n    ") if why else ""), flush=True)
    print("gpu: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return counts["FAIL"] == 0 and counts["PASS"] > 0


def main():
    global LLVM
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--llvm", type=pathlib.Path, default=LLVM)
    parser.add_argument("--only", default="plugin,passes,programs,gpu")
    options = parser.parse_args()
    LLVM = options.llvm
    options.build = options.build.resolve()
    options.work = (options.work or options.build / "mlir-tests").resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    plugin = options.build / "lib" / "KdlMLIR.so"
    if not plugin.exists():
        fail(f"{plugin}: found no plugin")
    root = mlir_test(options).resolve()
    names = selected(root)
    parts = {"plugin": lambda: compare_plugin(options, root, names, plugin),
             "passes": lambda: crash_passes(options, root, names, plugin),
             "programs": lambda: run_programs(options, root, plugin),
             "gpu": lambda: run_gpu(options, root, plugin)}
    wanted = options.only.split(",")
    for part in wanted:
        if part not in parts:
            fail(f"--only={part}: expected some of {', '.join(parts)}")
    good = [parts[part]() for part in wanted]
    sys.exit(0 if all(good) else 1)


main()
