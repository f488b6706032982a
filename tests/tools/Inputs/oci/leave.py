# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""leave.py LAYOUT SIZE...: removes the blobs of images that have none of the sizes."""
import json
import os
import sys

layout, sizes = sys.argv[1], {int(size) for size in sys.argv[2:]}
with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
    name = json.load(file)["manifests"][0]["digest"]
blobs = os.path.join(layout, "blobs", "sha256")
with open(os.path.join(blobs, name.split(":")[1]), encoding="utf-8") as file:
    manifest = json.load(file)
for layer in manifest["layers"]:
    if layer["size"] not in sizes:
        os.unlink(os.path.join(blobs, layer["digest"].split(":")[1]))
