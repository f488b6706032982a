# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""race.py LAYOUT DEVICE: another process changes a byte of the second image, to and fro, during pulls for DEVICE, which chooses it.
Each pull fails and leaves nothing, or has the bytes that the manifest names."""
import json
import mmap
import os
import subprocess
import sys

PULLS = 25


def flip(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        while True:
            data[-1] ^= 1


def main(layout, device):
    def read(*path):
        with open(os.path.join(layout, *path), encoding="utf-8") as file:
            return json.load(file)

    def pull(out):
        return subprocess.run(["kdl", "pull", f"oci:{layout}", f"--for={device}", "-o", out], capture_output=True, text=True,
                              errors="replace", check=False)

    manifest = read("blobs", "sha256", read("index.json")["manifests"][0]["digest"].split(":")[1])
    blob = os.path.join(layout, "blobs", "sha256", manifest["layers"][1]["digest"].split(":")[1])
    out = layout + ".out"
    if pull(out).returncode:
        sys.exit("the first pull failed")
    with open(out, "rb") as file:
        good = file.read()
    child = os.fork()
    if child == 0:
        flip(blob)
    wrong = 0
    for _ in range(PULLS):
        if os.path.exists(out):
            os.unlink(out)
        done = pull(out)
        if done.returncode == 0:
            with open(out, "rb") as file:
                wrong += file.read() != good
        else:
            wrong += done.returncode != 1 or "found bytes with the digest" not in done.stderr or os.path.exists(out)
    os.kill(child, 9)
    os.waitpid(child, 0)
    print(f"{PULLS} pulls, {wrong} with other bytes")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
