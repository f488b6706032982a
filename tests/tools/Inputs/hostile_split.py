# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hostile_split.py FOLDER BUNDLES ROOM INFLATED [STEP]: what `kdl split` could have written of a file with so many
compressed bundles, each of ROOM bytes that inflate to INFLATED, one every STEP bytes; each with one image of no use."""
import hashlib
import json
import os
import struct
import sys

folder, count, room, inflated = sys.argv[1], *map(int, sys.argv[2:5])
step = int(sys.argv[5]) if len(sys.argv) > 5 else room + 32
os.makedirs(folder, exist_ok=True)


def offload(images):
    """An OffloadBinary of version 2."""
    texts, places, end = [b"\0"], {}, 1
    maps = []
    for pairs, _ in images:
        row = []
        for text in (text for pair in pairs for text in pair):
            if text not in places:
                places[text] = end
                texts.append(text + b"\0")
                end += len(text) + 1
            row.append(text)
        maps.append(row)
    map_at = 32 + 40 * len(images)
    texts_at = map_at + 12 * sum(map(len, maps))
    at = (texts_at + end + 7) // 8 * 8
    body = b"".join(image for _, image in images)
    out = [struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", 2, at + len(body), 32, len(images))]
    image_at = at
    for row, (_, image) in zip(maps, images):
        out.append(struct.pack("<HHIQQQQ", 1, 0, 0, map_at, len(row) // 2, image_at, len(image)))
        map_at += 12 * len(row)
        image_at += len(image)
    for row in maps:
        for key, value in zip(row[::2], row[1::2]):
            out.append(struct.pack("<QQQ", texts_at + places[key], texts_at + places[value], len(value)))
    out += texts + [b"\0" * (at - texts_at - end), body]
    return b"".join(out)


def save(name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    return {"file": name, "size": len(data), "blake2b-256": hashlib.blake2b(data, digest_size=32).hexdigest()}


def number(value):
    return b"%d" % value


host = bytearray(count * step + room + 64)
skeleton, images = [], []
for i in range(count):
    at = 24 + i * step
    host[at - 24 : at - 16] = struct.pack("<4sHH", b"CCOB", 2, 1)
    place = [(b"kdl.split.in", number(at)), (b"kdl.split.of", b"0" * 64)]
    skeleton.append((place + [(b"kdl.split.room", number(room)), (b"kdl.split.inflated", number(inflated))], b"table"))
    images.append((place + [(b"kdl.split.at", number(8))], b"image"))
parts = [save("x.skeleton.offload", offload(skeleton)), save("x.sm_90.offload", offload(images))]
for part, arch in zip(parts, ("skeleton", "sm_90")):
    part.update(arch=arch, needed=arch == "skeleton", mixed=arch == "skeleton")
whole = save("x", bytes(host))
manifest = {"kdl_split": 1, "file": "x", "size": len(host), "mode": 420, "blake2b-256": "0" * 64}
manifest.update(host={"file": "x", "blake2b-256": whole["blake2b-256"]}, parts=parts)
save("x.kdl-split.json", json.dumps(manifest).encode())
