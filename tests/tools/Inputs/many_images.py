# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""many_images.py IMAGES KERNELS [ptx] [index] > FILE: an OffloadBinary of many small images, each with
kernels of its own, named by PTX, by index keys, or by both; without either, images of no bytes."""
import struct
import sys

images, kernels, kinds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
strings, places, end = [b"\0"], {}, 1


def place(text):
    global end
    if text not in places:
        places[text] = end
        strings.append(text + b"\0")
        end += len(text) + 1
    return places[text]


maps, bodies = [], []
for image in range(images):
    names = [b"k%d_%d" % (image, kernel) for kernel in range(kernels)]
    pairs = [(b"triple", b"nvptx64-nvidia-cuda"), (b"arch", b"sm_80")]
    if "index" in kinds:
        pairs += [(b"kdl.kernel." + name, b"block=64") for name in names]
    maps.append([(place(key), place(value), len(value)) for key, value in pairs])
    entries = b"".join(b".entry " + name + b"(){}\n" for name in names)
    bodies.append(b".version 8.0\n.target sm_80\n.address_size 64\n" + entries if "ptx" in kinds else b"")

map_at = 32 + 40 * images
strings_at = map_at + 24 * sum(len(pairs) for pairs in maps)
image_at = (strings_at + end + 7) // 8 * 8
size = (image_at + sum(len(body) for body in bodies) + 7) // 8 * 8
out = [struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", 2, size, 32, images)]
at = image_at
for pairs, body in zip(maps, bodies):
    out.append(struct.pack("<HHIQQQQ", 5, 2, 0 if body else 1, map_at, len(pairs), at, len(body)))
    map_at += 24 * len(pairs)
    at += len(body)
for pairs in maps:
    out += [struct.pack("<QQQ", strings_at + key, strings_at + value, length) for key, value, length in pairs]
out += strings + [b"\0" * (image_at - strings_at - end)] + bodies
data = b"".join(out)
sys.stdout.buffer.write(data + b"\0" * (size - len(data)))
