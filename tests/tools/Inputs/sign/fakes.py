# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fakes.py FAKES SIGNED TRUST: runs a signed library on a fake CUDA driver, then with one bit of it changed at places all over the
image, its metadata and its signature. No driver may be handed an image that is not what was signed."""

import os
import pathlib
import subprocess
import sys

fakes, signed, trust = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
log = signed.with_suffix(".log")
changed = signed.with_suffix(".changed")
LOADS = ("cuModuleLoad", "cuLibraryLoad", "cuLink")


def run(library):
    log.unlink(missing_ok=True)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(fakes / "whole"), KDL_FAKE_LOG=str(log), KDL_TRUST="require", KDL_TRUST_DIR=trust,
                       KDL_FAKE_DEVICES="cuda:sm_90 driver=13.0 memory=1GiB max_block=1024 shared=64KiB shared_optin=64KiB")
    done = subprocess.run(["kdl", "run", library, "saxpy", "--device=cuda", "--items=4", "--arg=f32:2", "--arg=buf:f32[4]", "--arg=buf:f32[4]",
                           "--arg=u32:4"], env=environment, capture_output=True, text=True, check=False)
    calls = log.read_text().splitlines() if log.exists() else []
    return done, [call for call in calls if call.startswith(LOADS)]


done, loads = run(signed)
if done.returncode != 0 or not loads:
    sys.exit(f"as signed: {done.returncode} {done.stderr} {loads}")
data = bytearray(signed.read_bytes())
places = {}
for name in (b"kdl.digest", b"kdl.signature", b"saxpy", b"nvptx64", b"sm_90", b"blake2b-256:", b"block=256", b"sig=f32", b".version"):
    at = data.find(name)
    if at < 0:
        continue
    places[name.decode()] = at + len(name) // 2
begin = data.find(b"RU", data.find(b"blake2b-256:"))  # of the signature's own base64
for i, name in enumerate(("first", "middle", "comment")):
    places[f"signature, {name}"] = begin + (5, 60, 192)[i]
image = data.find(b".version")
for i in range(3):
    places[f"image {i}"] = image + 40 + i * 300
refused = 0
for name, at in places.items():
    data[at] ^= 1
    changed.write_bytes(data)
    data[at] ^= 1
    done, loads = run(changed)
    if done.returncode == 0 or loads:
        sys.exit(f"{name}, byte {at}: exit code {done.returncode}, {loads}, {done.stdout}")
    refused += 1
print(f"{refused} changed bits refused, and no driver called with them" if refused > 12 else f"only {refused}: {places}")
