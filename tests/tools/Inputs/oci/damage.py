# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""damage.py LAYOUT: every part of a layout damaged in turn: kdl pull must say so, with exit code 1 or 3, within its
bounds of memory and time, and leave nothing."""
import copy
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys

OUT = "damaged-output"


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


class Layout:
    def __init__(self, source, work):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(source, work)
        self.work = work
        self.index = json.load(open(os.path.join(work, "index.json"), encoding="utf-8"))
        self.manifest = json.load(open(self.blob(self.index["manifests"][0]["digest"]), encoding="utf-8"))

    def blob(self, digest):
        return os.path.join(self.work, "blobs", "sha256", digest.split(":")[1])

    def seal(self, text=None):
        """The manifest as it is now, under the digest that it has."""
        data = text if text is not None else json.dumps(self.manifest).encode()
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        write(self.blob(digest), data)
        self.index["manifests"][0].update(digest=digest, size=len(data))
        self.save_index()

    def save_index(self):
        write(os.path.join(self.work, "index.json"), json.dumps(self.index).encode())


def note(layout, key, value, layer=0):
    layout.manifest["layers"][layer]["annotations"][key] = value
    layout.seal()


def set_layer(layout, **keys):
    layout.manifest["layers"][0].update(keys)
    layout.seal()


def flip(layout):
    path = layout.blob(layout.manifest["layers"][0]["digest"])
    data = bytearray(open(path, "rb").read())
    data[100] ^= 1
    write(path, bytes(data))


def cut(layout):
    path = layout.blob(layout.manifest["layers"][0]["digest"])
    write(path, open(path, "rb").read()[:-1])


def replace(layout, make, path=None):
    path = path or layout.blob(layout.manifest["layers"][0]["digest"])
    os.unlink(path)
    make(path)


def many_layers(layout, count):
    layer = json.dumps({k: v for k, v in layout.manifest["layers"][0].items() if k != "annotations"})
    text = json.dumps(dict(layout.manifest, layers=["LAYERS"])).replace('"LAYERS"', ",".join([layer] * count))
    layout.seal(text.encode())


def small_layers(layout):
    small = {"mediaType": layout.manifest["layers"][0]["mediaType"], "size": 0,
             "digest": "sha256:" + hashlib.sha256(b"").hexdigest(), "annotations": {"vnd.kdl.image": "kinds 0 0 flags 0\n"}}
    text = json.dumps(dict(layout.manifest, layers=["LAYERS"])).replace('"LAYERS"', ",".join([json.dumps(small)] * 17000))
    layout.seal(text.encode())


def outside(layout):
    layout.index["manifests"][0]["digest"] = "sha256:../../../index.json"
    layout.save_index()


def other_manifest(layout):
    layout.index["manifests"][0]["digest"] = layout.manifest["layers"][0]["digest"]
    layout.save_index()


DAMAGE = {
    "has another byte": flip,
    "is shorter": cut,
    "is a pipe": lambda l: replace(l, os.mkfifo),
    "is a device": lambda l: replace(l, lambda path: os.symlink("/dev/zero", path)),
    "is a folder": lambda l: replace(l, os.mkdir),
    "the manifest is a pipe": lambda l: replace(l, os.mkfifo, l.blob(l.index["manifests"][0]["digest"])),
    "the index is a pipe": lambda l: replace(l, os.mkfifo, os.path.join(l.work, "index.json")),
    "a layer's size is another": lambda l: set_layer(l, size=1),
    "a layer's size is huge": lambda l: set_layer(l, size=2**64 - 1),
    "a layer's size is negative": lambda l: set_layer(l, size=-1),
    "a layer's digest leads elsewhere": lambda l: set_layer(l, digest="sha256:../../../index.json"),
    "a layer's digest is of another method": lambda l: set_layer(l, digest="sha512:" + "0" * 128),
    "a layer's type is another": lambda l: set_layer(l, mediaType="application/vnd.oci.image.layer.v1.tar"),
    "a layer says nothing": lambda l: set_layer(l, annotations={}),
    "a record is empty": lambda l: note(l, "vnd.kdl.image", ""),
    "a record has no kinds": lambda l: note(l, "vnd.kdl.image", "arch=sm_90\n"),
    "a record has a key too large": lambda l: note(l, "vnd.kdl.image", "kinds 1 1 flags 0\n" + "k" * 5000 + "=1\n"),
    "a record has half an escape": lambda l: note(l, "vnd.kdl.image", "kinds 1 1 flags 0\narch=%4"),
    "a record has a NUL": lambda l: note(l, "vnd.kdl.image", "kinds 1 1 flags 0\narch=%00\n"),
    "a record has blank lines": lambda l: note(l, "vnd.kdl.image", "kinds 1 1 flags 0\n" + "\n" * 1000000),
    "metadata is another than was pushed": lambda l: note(l, "vnd.kdl.image", "kinds 1 1 flags 0\narch=sm_91\n"),
    "there are no layers": lambda l: (l.manifest.update(layers=[]), l.seal()),
    "there are two hundred thousand layers": lambda l: many_layers(l, 200000),
    "there are seventeen thousand layers": small_layers,
    "the manifest is no JSON": lambda l: l.seal(b"{"),
    "the manifest is deep": lambda l: l.seal(b"[" * 100000),
    "the artifact is another": lambda l: (l.manifest.update(artifactType="application/x"), l.seal()),
    "it is an index": lambda l: (l.manifest.update(mediaType="application/vnd.oci.image.index.v1+json"), l.seal()),
    "the format is another": lambda l: (l.manifest["annotations"].update({"vnd.kdl.format": "v9"}), l.seal()),
    "the whole's digest is another": lambda l: (l.manifest["annotations"].update(
        {"vnd.kdl.digest": "sha256:" + "0" * 64}), l.seal()),
    "the manifest's digest leads elsewhere": outside,
    "the manifest is another blob": other_manifest,
    "the index is no JSON": lambda l: write(os.path.join(l.work, "index.json"), b"{]"),
    "the index is empty": lambda l: write(os.path.join(l.work, "index.json"), b"{}"),
}


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


def main(source):
    failures = 0
    for what, how in DAMAGE.items():
        work = source + "-damaged"
        layout = Layout(source, work)
        how(layout)
        done = subprocess.run(["kdl", "pull", f"oci:{work}:1", "-o", OUT], capture_output=True, check=False,
                              text=True, errors="replace", preexec_fn=limit, cwd=os.path.dirname(source),
                              timeout=20)
        message = done.stderr.strip()
        left = [name for name in os.listdir(os.path.dirname(source)) if name.startswith(OUT)]
        if done.returncode not in (1, 3) or not message.startswith("kdl pull: error: ") or len(message) > 4000 or left:
            failures += 1
            print(f"{what}: exit code {done.returncode}, left {left}: {message[:300]}")
        if "--show" in sys.argv:
            print(f"{what}: {message[:250]}")
    print(f"{len(DAMAGE)} ways to damage a layout, {'all refused' if not failures else f'{failures} not refused'}")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
