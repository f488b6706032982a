# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cache_entry.py FOLDER LINK_KEY NOTES KIND IMAGE: an entry of the cache, written by the words of
docs/cache.md and not by libkdl's code; \\n in LINK_KEY and NOTES ends a line. Prints its name."""

import hashlib
import os
import struct
import sys

folder, link_key, notes, kind, image = sys.argv[1:]
link_key = link_key.replace("\\n", "\n").encode()
notes = notes.replace("\\n", "\n").encode()
image = image.encode()


def digest(data):
    return hashlib.blake2b(data, digest_size=32)


header = b"KDLCACHE" + struct.pack("<IIIIQ", 1, int(kind), len(link_key), len(notes), len(image))
body = link_key + notes + image
os.makedirs(folder, mode=0o700, exist_ok=True)
name = digest(link_key).hexdigest() + ".kdl"
path = os.path.join(folder, name)
with open(path, "wb") as file:
    file.write(header + digest(header + body).digest() + body)
os.chmod(path, 0o600)
print(name)
