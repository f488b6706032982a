# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""thin_sycl_images.py GOLDEN: writes into the current folder images as SYCL's runtime is given them: archives as Intel's
compiler writes them, with cubins for members, plain and as zstd frames, and images.s, which describes them."""
import struct
import sys


def golden(name):
    return open(f"{sys.argv[1]}/images/{name}", "rb").read()


def archive(members):
    data = b"!<arch>\n"
    for index, (name, member) in enumerate(members):
        padding = 8 - len(data) % 8
        for title, content in ((f"pad_{index}", b" " * padding), (name, member)):
            data += b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (title.encode() + b"/", b"0", b"0", b"0", b"644", len(content))
            data += content + b"\n" * (len(content) % 2)
    return data


def frame(data):
    """Stored blocks, which needs no compressor."""
    out = struct.pack("<IBI", 0xfd2fb528, 0xa0, len(data))
    blocks = [data[at:at + 100_000] for at in range(0, len(data), 100_000)]
    for index, block in enumerate(blocks):
        out += struct.pack("<I", len(block) << 3 | (index == len(blocks) - 1))[:3] + block
    return out


big = golden("sm_120.cubin") + bytes(90_001)  # of an odd size
several = archive([("75", golden("sm_75.cubin")), ("90a", golden("sm_90a.cubin")), ("120", big)])
others = archive([("75", golden("sm_75.cubin")), ("120", big), ("generic_ir", b"for every device")])
images = [("plain", several, None), ("packed", frame(several), len(several)), ("others", frame(others), len(others)),
          ("alone", golden("sm_75.cubin"), None), ("alone_packed", frame(golden("sm_120.cubin")), len(golden("sm_120.cubin"))),
          ("kept", golden("sm_90a.cubin"), None)]
lines = ['.section "__CLANG_OFFLOAD_BUNDLE__sycl-nvptx64", "a", %progbits']
for name, data, size in images:
    open(name, "wb").write(data)
    lines += [".balign 16", f'{name}: .incbin "{name}"', f"{name}_end:"]
lines += ['.section .data.rel.ro, "aw", %progbits', ".balign 8", ".globl descriptors, descriptors_end", "descriptors:"]
for name, data, size in images:
    lines += [f".quad 0, {name}, {name}_end, 0"]
lines += ["descriptors_end:", '.section .tgtimg, "aw", %progbits', ".balign 16"]
for name, data, size in images:
    lines += [f".quad {name}, {size or len(data)}"]
if "--stray" in sys.argv:
    lines += [".data", ".quad kept", ".quad packed + 100"]
open("images.s", "w").write("\n".join(lines) + '\n.section .note.GNU-stack, "", %progbits\n')
