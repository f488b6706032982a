#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""thin_wheel.py FATBIN FOLDER: makes wheels and zip archives, thins them, and looks at what came out."""

import base64
import csv
import hashlib
import io
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

FATBIN = Path(sys.argv[1]).read_bytes()
FOLDER = Path(sys.argv[2])
TIME = (2023, 4, 5, 6, 7, 8)
DEVICE = "cuda:sm_90 driver=13.0"
INFO = "pkg-1.0.dist-info"


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def member(name, method=zipfile.ZIP_DEFLATED):
    info = zipfile.ZipInfo(name, TIME)
    info.compress_type = method
    info.external_attr = 0o100755 << 16
    return info


def make(path, members, signed=False, comment=b"", record=True):
    """members: (name, data, method)"""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data, method in members:
            wheel.writestr(member(name, method), data)
            writer.writerow([name, digest(data), len(data)])
        if signed:
            wheel.writestr(member(f"{INFO}/RECORD.jws"), b"{}")
            writer.writerow([f"{INFO}/RECORD.jws", "", ""])
        writer.writerow([f"{INFO}/RECORD", "", ""])
        if record:
            wheel.writestr(member(f"{INFO}/RECORD"), rows.getvalue())
        wheel.comment = comment


def thin(source, *options):
    return subprocess.run(["kdl", "thin", source, "--for=" + DEVICE, *options], cwd=FOLDER,
                          capture_output=True, text=True, check=False)


def check(condition, what):
    if not condition:
        sys.exit(f"thin_wheel: {what}")


def good(name, *options):
    done = thin(name, "-o", "out.whl", *options)
    check(done.returncode == 0, f"{name}: {done.stderr}")
    check(subprocess.run(["kdl", "thin", "out.whl", "--for=" + DEVICE, "-o", "twice.whl"], cwd=FOLDER,
                         check=False).returncode == 0, f"{name}: not thinned twice")
    check((FOLDER / "out.whl").read_bytes() == (FOLDER / "twice.whl").read_bytes(),
          f"{name}: thinning twice changes it")
    return zipfile.ZipFile(FOLDER / "out.whl"), done


def check_record(wheel):
    for path, value, size in csv.reader(io.StringIO(wheel.read(f"{INFO}/RECORD").decode())):
        if value:
            data = wheel.read(path)
            check(value == digest(data) and int(size) == len(data), f"RECORD is wrong for {path}")


def bad(name, expected):
    (FOLDER / "no").unlink(missing_ok=True)
    done = thin(name, "-o", "no")
    check(done.returncode == 1 and expected in done.stderr,
          f"{name}: found {done.returncode}, {done.stderr!r}, expected {expected!r}")
    check(not (FOLDER / "no").exists(), f"{name}: something was written")


def wheels():
    members = [("pkg/a.fatbin", FATBIN, zipfile.ZIP_DEFLATED),
               ("pkg/b, \"b\".fatbin", FATBIN, zipfile.ZIP_STORED),
               ("pkg/__init__.py", b"print()\n" * 9, zipfile.ZIP_DEFLATED),
               ("pkg/empty", b"", zipfile.ZIP_STORED)]
    make(FOLDER / "w.whl", members, comment=b"a comment")
    wheel, _ = good("w.whl")
    before = zipfile.ZipFile(FOLDER / "w.whl")
    check(wheel.testzip() is None, "a checksum is wrong")
    check(wheel.comment == b"a comment", "the comment is gone")
    for old, new in zip(before.infolist(), wheel.infolist()):
        check((old.filename, old.date_time, old.compress_type, old.external_attr) ==
              (new.filename, new.date_time, new.compress_type, new.external_attr), old.filename)
    check(len(wheel.read("pkg/a.fatbin")) < len(FATBIN) / 2, "the fatbin is not smaller")
    check(wheel.read("pkg/a.fatbin") == wheel.read("pkg/b, \"b\".fatbin"), "the two differ")
    check_record(wheel)

    make(FOLDER / "signed.whl", members, signed=True)
    wheel, done = good("signed.whl")
    check(f"{INFO}/RECORD.jws" not in wheel.namelist(), "the signature is still there")
    check("RECORD.jws" not in wheel.read(f"{INFO}/RECORD").decode(), "RECORD names the signature")
    check("does not hold for what is left" in done.stderr, "nothing is said of the signature")
    check_record(wheel)

    # Where nothing goes, signatures and all stay as they are.
    thinned = wheel.read("pkg/a.fatbin")
    make(FOLDER / "whole.whl", [("pkg/a.fatbin", thinned, zipfile.ZIP_DEFLATED)], signed=True)
    good("whole.whl")
    check((FOLDER / "whole.whl").read_bytes() == (FOLDER / "out.whl").read_bytes(), "whole.whl changed")

    # Without a RECORD it is any zip archive.
    make(FOLDER / "plain.zip", members, record=False)
    wheel, _ = good("plain.zip")
    check(len(wheel.read("pkg/a.fatbin")) < len(FATBIN) / 2, "plain.zip is not smaller")

    # In place, with the mode.
    make(FOLDER / "p.whl", members, comment=b"a comment")
    os.chmod(FOLDER / "p.whl", 0o640)
    check(thin("p.whl", "--in-place").returncode == 0, "not thinned in place")
    good("w.whl")
    check((FOLDER / "p.whl").read_bytes() == (FOLDER / "out.whl").read_bytes(), "in place it differs")
    check((FOLDER / "p.whl").stat().st_mode & 0o777 == 0o640, "the mode changed")
    done = thin("w.whl", "--dry-run")
    check("pkg/a.fatbin: " in done.stdout and "3 images go, 1 stay" in done.stdout, done.stdout)


def records():
    """RECORDs as no tool writes them, several, and one that cannot be read."""
    def archive(name, record, *more):
        with zipfile.ZipFile(FOLDER / name, "w") as wheel:
            wheel.writestr(member("a.fatbin"), FATBIN)
            for path, data in ((f"{INFO}/RECORD", record), *more):
                wheel.writestr(member(path), data)

    old = f"{digest(FATBIN)},{len(FATBIN)}"
    # A path with a line break is one line; what is not of a changed member stays, whatever it says.
    odd = f'"a.fatbin\nx",{old}\r\n"a.fatbin",{old}\r\n../a.fatbin,{old}\n/etc/passwd,,\n,,\n\n\0\na.fatbin,{old}'
    archive("odd.whl", odd)
    wheel, _ = good("odd.whl")
    thinned = wheel.read("a.fatbin")
    new = f"{digest(thinned)},{len(thinned)}"
    expected = odd.replace(f'"a.fatbin",{old}', f'"a.fatbin",{new}').replace(f"\na.fatbin,{old}", f"\na.fatbin,{new}")
    check(wheel.read(f"{INFO}/RECORD").decode() == expected, f"odd.whl: {wheel.read(f'{INFO}/RECORD')}")
    archive("open.whl", f'"a.fatbin,{old}\na.fatbin,{old}\n')
    wheel, _ = good("open.whl")
    check(wheel.read(f"{INFO}/RECORD").decode() == f'"a.fatbin,{old}\na.fatbin,{old}\n', "open.whl")
    archive("without.whl", "other,,\n")
    wheel, _ = good("without.whl")
    check(wheel.read(f"{INFO}/RECORD") == b"other,,\n", "without.whl")
    # A mark of UTF-8 and parts of a path that say nothing are other spellings of a name, in either place.
    spelt = "\ufeff./a.fatbin,{0}\n.//././a.fatbin,{0}\n/a.fatbin,{1}\n.a.fatbin,{1}\na.fatbin/.,{1}\n"
    archive("spelt.whl", spelt.format(old, old))
    wheel, _ = good("spelt.whl")
    check(wheel.read(f"{INFO}/RECORD").decode() == spelt.format(new, old), "spelt.whl")
    archive("quoted.whl", f'\ufeff"a.fatbin",{old}\n')
    wheel, _ = good("quoted.whl")
    check(wheel.read(f"{INFO}/RECORD").decode() == f'\ufeff"a.fatbin",{new}\n', "quoted.whl")
    with zipfile.ZipFile(FOLDER / "dotted.whl", "w") as dotted:
        dotted.writestr(member("./b/a.fatbin"), FATBIN)
        dotted.writestr(member(f"./{INFO}/RECORD"), f"b/a.fatbin,{old}\n")
    wheel, _ = good("dotted.whl")
    check(wheel.read(f"./{INFO}/RECORD").decode() == f"b/a.fatbin,{new}\n", "dotted.whl")
    # A zip of a whole environment has several.
    archive("several.zip", f"a.fatbin,{old}\n", ("b.fatbin", FATBIN), ("other-2.dist-info/RECORD", f"b.fatbin,{old}\n"))
    wheel, _ = good("several.zip")
    check(wheel.read(f"{INFO}/RECORD").decode() == f"a.fatbin,{new}\n" and
          wheel.read("other-2.dist-info/RECORD").decode() == f"b.fatbin,{new}\n", "several.zip")
    # One that cannot be read cannot be made true.
    archive("secret.whl", f"a.fatbin,{old}\n")
    data = bytearray((FOLDER / "secret.whl").read_bytes())
    header = data.index(b"PK\3\4", 4)
    data[header + 6] |= 1
    data[data.index(b"PK\1\2", data.index(b"PK\1\2") + 4) + 8] |= 1
    (FOLDER / "secret.whl").write_bytes(data)
    bad("secret.whl", f"{INFO}/RECORD")


def forms():
    # Sizes behind the data, where what writes cannot seek.
    class Stream(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    stream = Stream()
    with zipfile.ZipFile(stream, "w") as wheel:
        for name in ("a.fatbin", "b.txt"):
            with wheel.open(member(name), "w") as to:
                to.write(FATBIN if name == "a.fatbin" else b"text")
    (FOLDER / "stream.zip").write_bytes(stream.data)
    wheel, _ = good("stream.zip")
    check(wheel.testzip() is None and wheel.read("b.txt") == b"text", "stream.zip")
    check(wheel.getinfo("b.txt").flag_bits & 8 and not wheel.getinfo("a.fatbin").flag_bits & 8, "flags")

    # The records of zip64, though nothing needs them.
    with zipfile.ZipFile(FOLDER / "wide.zip", "w") as wheel:
        with wheel.open(member("a.fatbin"), "w", force_zip64=True) as to:
            to.write(FATBIN)
    wheel, _ = good("wide.zip")
    check(wheel.testzip() is None and len(wheel.read("a.fatbin")) < len(FATBIN) / 2, "wide.zip")

    # Many members need them.
    with zipfile.ZipFile(FOLDER / "many.zip", "w") as wheel:
        for i in range(66000):
            wheel.writestr(zipfile.ZipInfo(f"f{i}", TIME), b"")
        wheel.writestr(member("a.fatbin"), FATBIN)
    wheel, _ = good("many.zip")
    check(len(wheel.namelist()) == 66001 and len(wheel.read("a.fatbin")) < len(FATBIN) / 2, "many.zip")

    # PyTorch's archives align what they store by an extra field.
    with zipfile.ZipFile(FOLDER / "aligned.pt2", "w") as archive:
        archive.writestr(member("a.fatbin", zipfile.ZIP_STORED), FATBIN)
        info = member("m/data/weights", zipfile.ZIP_STORED)
        at = archive.fp.tell() + 30 + len(info.filename) + 4
        info.extra = struct.pack("<HH", 0x4246, -at % 64) + b"Z" * (-at % 64)
        archive.writestr(info, b"w" * 100)
    wheel, _ = good("aligned.pt2")
    data = (FOLDER / "out.whl").read_bytes()
    check(data.index(b"w" * 100) % 64 == 0 and wheel.testzip() is None, "aligned.pt2 is not aligned")


def hostile():
    def archive(name, *names):
        with zipfile.ZipFile(FOLDER / name, "w") as wheel:
            for each in names:
                wheel.writestr(member(each), FATBIN)
        return (FOLDER / name).read_bytes()

    archive("up.zip", "a/../../x.fatbin")
    bad("up.zip", "found a member named 'a/../../x.fatbin'")
    archive("root.zip", "/etc/x.fatbin")
    bad("root.zip", "found a member named '/etc/x.fatbin'")
    plain = archive("twice.zip", "a.fatbin", "b.fatbin")
    (FOLDER / "twice.zip").write_bytes(plain.replace(b"b.fatbin", b"a.fatbin"))
    bad("twice.zip", "found two members named 'a.fatbin'")
    directory = plain.index(b"PK\1\2")
    changed = bytearray(plain)
    changed[directory + 46:directory + 47] = b"c"
    (FOLDER / "name.zip").write_bytes(changed)
    bad("name.zip", "found another name than the directory has")
    second = plain.index(b"PK\1\2", directory + 4)
    changed = bytearray(plain)
    changed[second + 42:second + 46] = struct.pack("<I", 7)
    (FOLDER / "offset.zip").write_bytes(changed)
    bad("offset.zip", "found no header of a member")
    # Two entries of the directory for one member, under two names, share its bytes.
    one = archive("one.zip", "a.fatbin")
    at = one.index(b"PK\1\2")
    entry, end = one[at:one.index(b"PK\5\6")], bytearray(one[one.index(b"PK\5\6"):])
    struct.pack_into("<HHI", end, 8, 2, 2, 2 * len(entry))
    (FOLDER / "shared.zip").write_bytes(one[:at] + entry + entry + end)
    bad("shared.zip", "shares bytes with another")
    changed = bytearray(plain)
    end = plain.index(b"PK\5\6")
    struct.pack_into("<HH", changed, end + 8, 60000, 60000)
    (FOLDER / "count.zip").write_bytes(changed)
    bad("count.zip", "found more members than the directory has room for")
    struct.pack_into("<I", changed, end + 16, 0xfffffff0)
    (FOLDER / "beyond.zip").write_bytes(changed)
    bad("beyond.zip", "found a directory beyond the end")
    (FOLDER / "cut.zip").write_bytes(plain[:-30])
    bad("cut.zip", "found no end of the directory")
    changed = bytearray(plain)
    struct.pack_into("<I", changed, directory + 24, 0xfffffff0)
    (FOLDER / "bomb.zip").write_bytes(changed)
    bad("bomb.zip", "bytes that inflate to 4294967280, expected at most")
    changed = bytearray(plain)
    changed[60:70] = b"\xff" * 10
    (FOLDER / "packed.zip").write_bytes(changed)
    bad("packed.zip", "packed.zip!a.fatbin")
    # An encrypted member, and one packed in a way that nothing here knows, stay as they are.
    changed = bytearray(plain)
    changed[6] |= 1
    changed[directory + 8] |= 1
    struct.pack_into("<H", changed, plain.index(b"PK\3\4", 4) + 8, 93)
    struct.pack_into("<H", changed, second + 10, 93)
    (FOLDER / "secret.zip").write_bytes(changed)
    done = thin("secret.zip", "-o", "no")
    check(done.returncode == 3 and "found no member with device code" in done.stderr, done.stderr)
    # Mode and attributes stay, as those of libraries do, and other names keep the old archive.
    make(FOLDER / "own.whl", [("a.fatbin", FATBIN, zipfile.ZIP_STORED)])
    os.chmod(FOLDER / "own.whl", 0o600)
    os.link(FOLDER / "own.whl", FOLDER / "other.whl")
    attributes = [sys.executable, os.path.join(os.path.dirname(__file__), "thin_attributes.py")]
    subprocess.run([*attributes, "set", "own.whl"], cwd=FOLDER, check=True)
    check(thin("own.whl", "-o", "new.whl").returncode == 0 and (FOLDER / "new.whl").stat().st_mode & 0o777 == 0o600, "mode of new.whl")
    done = thin("own.whl", "--in-place")
    check(done.returncode == 0 and "own.whl: 1 more names" in done.stderr, done.stderr)
    check((FOLDER / "own.whl").stat().st_mode & 0o777 == 0o600, "mode of own.whl")
    for name in ("own.whl", "new.whl"):
        subprocess.run([*attributes, "check", name], cwd=FOLDER, check=True)
    # A full disk leaves the old archive.
    make(FOLDER / "full.whl", [("a.fatbin", FATBIN, zipfile.ZIP_STORED),
                               ("z", bytes(os.urandom(9000)), zipfile.ZIP_STORED)])
    before = (FOLDER / "full.whl").read_bytes()
    done = subprocess.run(["sh", "-c", f"ulimit -f 2; exec kdl thin full.whl '--for={DEVICE}' --in-place"],
                          cwd=FOLDER, capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "cannot write" in done.stderr, done.stderr)
    check((FOLDER / "full.whl").read_bytes() == before, "full.whl changed")
    check(not [name for name in os.listdir(FOLDER) if name.startswith("full.whl.")], "something is left")


wheels()
records()
forms()
hostile()
print("thin_wheel: done")
