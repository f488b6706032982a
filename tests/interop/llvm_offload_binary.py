#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kdl in the place of llvm-offload-binary, against the tool itself.

Each case is a command line, run by both in a folder of its own with the same files: exit codes,
names of the files that are there afterwards and their bytes must be equal, and both say something
on standard error or neither does. Of packed files it is the images and their metadata that are
compared, since LLVM writes keys in the order of a hash map.

    llvm_offload_binary.py --kdl build/bin/kdl --llvm /usr/lib/llvm-22/bin
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MAGIC = b"\x10\xff\x10\xad"
A = "file=a.cubin,triple=nvptx64-nvidia-cuda,arch=sm_75,kind=cuda"
B = "file=b.o,triple=x86_64-unknown-linux-gnu,kind=openmp"

# What is not as in LLVM 22, on purpose: names with a slash (it stays in this folder), --archive,
# and extraction without --image, which LLVM 22 ignores and LLVM 23 does.
CASES = [
    # Packing.
    ["-o", "out", f"--image={A}"],
    ["-o", "out", f"--image={A}", f"--image={B}"],
    ["-o=out", f"-image={A}"],
    ["--o", "out", "--image", A],
    ["-o", "out", "--image=file=a.cubin"],
    ["-o", "out", "--image=file=a.cubin,file=b.o,triple=t,kind=hip"],
    ["-o", "out", "--image=file=a.cubin,triple=t,feature=a,feature=b,feature=a"],
    ["-o", "out", "--image=file=a.cubin,triple=t,flag"],
    ["-o", "out", "--image=file=a.cubin,triple=t,empty="],
    ["-o", "out", "--image=file=a.cubin,triple=t,key=a=b"],
    ["-o", "out", "--image=file=a.cubin,triple=t,"],
    ["-o", "out", "--image=file=a.cubin,triple=t,kind=bogus"],
    ["-o", "out", "--image=file=a.cubin,triple=t,kind="],
    ["-o", "out", "--image=file=a.cubin,triple=t,image_kind=ptx,member=m"],
    ["-o", "out", "--image=file=a.cubin,triple=t,requires_features=bogus"],
    ["-o", "out", "--image=file=a.cubin,triple=t,variant_priority=many"],
    ["-o", "out", "--image=file=a.cubin,triple=t,kind=sycl"],
    ["-o", "out", "--image=file=a.cubin,triple=t,kind=4"],
    ["-o", "out", "--image=file=a.cubin,kdl.kernel.k=rev=9"],
    ["-o", "out", "--image==x,file=a.cubin"],
    ["-o", "out", "--image=file=,triple=t"],
    ["-o", "out", "--image=file=plain,triple=t"],
    ["-o", "out", "--image=file=c.bc,triple=t"],
    ["-o", "out", "--image=file=packed,arch=nested,triple=x-y-z"],
    ["-o", "out", "--image=file=none,triple=t"],
    ["-o", "out", "--image=file=empty,triple=t"],
    ["-o", "out", "--image=triple=t"],
    ["-o", "out", "--image="],
    ["-o", "out"],
    ["-o", "no/such/folder", f"--image={A}"],
    ["-o", "out", "--image=file=-,triple=t"],
    # Extracting.
    ["packed", "--image=kind=cuda,file=out"],
    ["packed", "--image=kind=cuda"],
    ["packed", "--image=kind=openmp"],
    ["packed", "--image=arch=sm_75,triple=nvptx64-nvidia-cuda"],
    ["packed", "--image=arch=sm_75,triple=other"],
    ["packed", "--image=arch=,file=out"],
    ["packed", "--image=file=out"],
    ["packed", "--image=arch=none,file=out"],
    ["packed", "--image=kind=cuda,file=one", "--image=kind=openmp,file=two"],
    ["packed", "--image=kind=bogus,file=out"],
    ["packed", "--image=kind=4,file=out"],
    ["packed", "--image=none=,file=out"],
    ["packed", "--image=none=1,file=out"],
    ["packed", "--image=0,file=out"],
    ["packed", "--image=0"],
    ["packed", "--image="],
    ["packed", "--image=image_kind=cubin,file=out"],
    ["packed", "--image=member=m.o,file=out"],
    ["packed", "--image=kind=cuda,file=no/such/folder"],
    ["lib.a", "--image=kind=openmp,file=out"],
    ["lib.a", "--image=kind=openmp"],
    ["nested", "--image=arch=nested,file=out"],
    ["nested", "--image=arch=sm_75,file=out"],
    ["embedded.o", "--image=kind=cuda,file=out"],
    ["embedded.o", "--image=kind=cuda"],
    ["junk", "--image=file=out"],
    ["empty", "--image=file=out"],
    ["a.cubin", "--image=file=out"],
    ["plain", "--image=file=out"],
    ["cut", "--image=file=out"],
    ["none", "--image=file=out"],
    ["-", "--image=kind=cuda,file=out"],
    # The command line.
    [],
    ["--help"],
    ["-h"],
    ["--bogus"],
    ["-o"],
    ["-o", "out", "-o", "other", f"--image={A}"],
    ["-o", "out", "packed", f"--image={A}"],
    ["packed", "nested", "--image=file=out"],
    ["packed", "--", "--image=file=out"],
    # Response files.
    ["@pack.rsp"],
    ["@lines.rsp"],
    ["@crlf.rsp"],
    ["@quoted.rsp"],
    ["@escaped.rsp"],
    ["@outer.rsp"],
    ["@empty.rsp", "-o", "out", f"--image={A}"],
    ["@none.rsp"],
    ["-o", "out", "@image.rsp"],
    ["packed", "@extract.rsp"],
    ["-o", "@odd", f"--image={A}"],
    ["@open.rsp"],
    ["@mark.rsp"],
]

RESPONSES = {
    "pack.rsp": f"-o out --image={A}",
    "lines.rsp": f"-o\nout\n\n   --image={A}\n\t--image={B}\n",
    "crlf.rsp": f"-o out\r\n--image={A}\r\n",
    "quoted.rsp": "-o 'out 1' \"--image=file=a.cubin,triple=a b\" --image='file=b.o,tri'ple=c",
    "escaped.rsp": r'-o out\ 1 "--image=file=a.cubin,triple=a\"b" --image=file=b.o,x=\\y',
    "image.rsp": f"--image={A}",
    "outer.rsp": "-o out @image.rsp",
    "empty.rsp": "",
    "open.rsp": "-o 'out '' \"\" x' --image=file=a.cubin \\",
    "mark.rsp": f"\ufeff-o out --image={A}",
    "extract.rsp": "--image=kind=cuda,file=out",
}


def make_files(folder, golden, llvm):
    """The files that every case finds."""
    tool = str(llvm / "llvm-offload-binary")

    def run(*words):
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    shutil.copy(golden / "images" / "sm_75.cubin", folder / "a.cubin")
    (folder / "b.o").write_bytes(b"not really an object")
    (folder / "c.bc").write_bytes(b"BC\xc0\xde" + bytes(60))
    (folder / "plain").write_text("plain text\n")
    (folder / "junk").write_bytes(bytes(range(256)))
    (folder / "empty").write_bytes(b"")
    (folder / "folder").mkdir()
    for name, text in RESPONSES.items():
        (folder / name).write_bytes(text.encode())
    run(tool, "-o", "packed", f"--image={A}", f"--image={B},member=m.o")
    run(tool, "-o", "nested", "--image=file=packed,arch=nested,triple=x-y-z")
    (folder / "cut").write_bytes((folder / "packed").read_bytes()[:-40])
    for name in ("one", "two"):
        (folder / "content").write_text(name)
        run(tool, "-o", f"{name}.o", "--image=file=content,triple=x-y-z,arch=gfx90a,kind=openmp")
    run(str(llvm / "llvm-ar"), "rcs", "lib.a", "one.o", "two.o")
    (folder / "empty.yaml").write_text("--- !ELF\nFileHeader:\n  Class: ELFCLASS64\n  Data: ELFDATA2LSB\n"
                                       "  Type: ET_REL\n  Machine: EM_X86_64\n")
    run(str(llvm / "yaml2obj"), "empty.yaml", "-o", "none.o")
    run(str(llvm / "llvm-objcopy"), "--add-section=.llvm.offloading=packed",
        "--set-section-flags=.llvm.offloading=exclude", "--set-section-alignment=.llvm.offloading=8",
        "--set-section-type=.llvm.offloading=0x6fff4c0b", "none.o", "embedded.o")


def describe(kdl, path):
    """Bytes, or of a packed file what is in it."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        return data
    done = subprocess.run([kdl, "ls", "--json", path], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return data
    images = json.loads(done.stdout)["images"]
    return [{key: image[key] for key in ("declared_kind", "offload_kind", "flags", "size", "metadata")}
            for image in images]


def run_case(tool, words, files, kdl):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(files, folder, dirs_exist_ok=True)
        with open(files / "packed", "rb") as stdin:
            done = subprocess.run([tool, *words], cwd=folder, stdin=stdin, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        made = {}
        for path in sorted(folder.rglob("*")):
            relative = path.relative_to(folder)
            if path.is_file() and (not (files / relative).exists() or
                                   (files / relative).read_bytes() != path.read_bytes()):
                made[str(relative)] = describe(kdl, path)
        return {"exit code": done.returncode, "files": made, "complains": bool(done.stderr)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kdl", type=pathlib.Path, required=True)
    parser.add_argument("--llvm", type=pathlib.Path, required=True)
    options = parser.parse_args()
    theirs = options.llvm / "llvm-offload-binary"
    for tool in ("llvm-offload-binary", "llvm-ar", "yaml2obj", "llvm-objcopy"):
        if not (options.llvm / tool).exists():
            print(f"skipped: {tool} not found (Debian: llvm-22)")
            return 77
    version = subprocess.run([theirs, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    major = int(re.search(r"LLVM version (\d+)", version).group(1))
    cases = CASES + ([["packed"], ["--", "packed"], ["nested"], ["lib.a"], ["embedded.o"]] if major >= 23 else [])
    golden = pathlib.Path(__file__).resolve().parent.parent / "golden"
    different = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = folder / "bin" / "llvm-offload-binary"
        ours.parent.mkdir()
        ours.symlink_to(options.kdl.resolve())
        files = folder / "files"
        files.mkdir()
        make_files(files, golden, options.llvm)
        for words in cases:
            expected = run_case(theirs, words, files, options.kdl)
            found = run_case(ours, words, files, options.kdl)
            for what, value in expected.items():
                if found[what] != value:
                    different += 1
                    print(f"{' '.join(words)}: {what}: found {found[what]!r:.300}, expected {value!r:.300}",
                          file=sys.stderr)
    if different:
        return 1
    print(f"{len(cases)} command lines: the same exit codes and files as LLVM {major}'s")
    return 0


sys.exit(main())
