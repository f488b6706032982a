# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""thin_openmp.py GOLDEN: OffloadBinaries of one image each, and where their images begin and end as options of the compiler."""
import struct, subprocess, sys

options = ""
for number, (arch, triple) in enumerate([("sm_75", "nvptx64-nvidia-cuda"), ("sm_90a", "nvptx64-nvidia-cuda"), ("gfx90a", "amdgcn-amd-amdhsa"), ("sm_120", "nvptx64-nvidia-cuda")]):
    suffix = "hsaco" if arch.startswith("gfx") else "cubin"
    image = open(f"{sys.argv[1]}/images/{arch}.{suffix}", "rb").read() + bytes(300000)
    open("image", "wb").write(image)
    subprocess.run(["kdl", "pack", "-o", arch + ".bin", f"--image=file=image,triple={triple},arch={arch},kind=openmp"], check=True)
    entry = struct.unpack_from("<Q", open(arch + ".bin", "rb").read(), 16)[0]
    start, size = struct.unpack_from("<QQ", open(arch + ".bin", "rb").read(), entry + 24)
    options += f"-Wa,--defsym,START{number}={start} -Wa,--defsym,END{number}={start + size} "
print(options)
