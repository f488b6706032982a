# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""retell.py LAYOUT KEY=VALUE: adds metadata to every image of the first manifest, and names what comes of it in its place."""
import hashlib
import json
import os
import sys

layout, pair = sys.argv[1:]
place = os.path.join(layout, "index.json")
with open(place, encoding="utf-8") as file:
    index = json.load(file)
entry = index["manifests"][0]
blobs = os.path.join(layout, "blobs", "sha256")
with open(os.path.join(blobs, entry["digest"].split(":")[1]), encoding="utf-8") as file:
    manifest = json.load(file)
for layer in manifest["layers"]:
    layer["annotations"]["vnd.kdl.image"] += pair + "\n"
text = json.dumps(manifest).encode()
entry.update(digest="sha256:" + hashlib.sha256(text).hexdigest(), size=len(text))
with open(os.path.join(blobs, entry["digest"].split(":")[1]), "wb") as file:
    file.write(text)
with open(place, "w", encoding="utf-8") as file:
    json.dump(index, file)
