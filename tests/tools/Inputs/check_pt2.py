# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_pt2.py GOLDEN WRAPPER.so OUT: a package as torch._inductor writes it: members are stored, their bytes aligned to 64 by an extra field, and the last is what
PyTorch tells archives apart by. The code of CUDA lies beside the library that launches it, one file for each kernel that Triton made."""
import sys, zipfile

golden, wrapper, out = sys.argv[1:]


def read(path):
    with open(path, "rb") as file:
        return file.read()


folder = "data/aotinductor/model/"
members = {
    folder + "cabc.wrapper.cpp": b"// made by inductor\n",
    folder + "cabc.wrapper_metadata.json": b'{"AOTI_DEVICE_KEY": "cuda"}',
    folder + "triton_poi_fused_relu_0.cubin": read(golden + "/images/stores_sm_90a.cubin"),
    folder + "triton_poi_fused_add_1.cubin": read(golden + "/images/stores_sm_75.cubin"),
    folder + "cabc.wrapper.so": read(wrapper),
    "data/weights/weight_0": bytes(4096),
    "archive_format": b"pt2",
    "archive_version": b"0",
    ".data/version": b"3\n",
    "byteorder": b"little",
    ".data/serialization_id": b"0123456789",
}
with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
    for name, data in members.items():
        info = zipfile.ZipInfo("model/" + name)
        room = -(archive.fp.tell() + 30 + len(info.filename) + 4) % 64
        info.extra = b"FB" + room.to_bytes(2, "little") + b"Z" * room
        archive.writestr(info, data)
