# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as users write it, for mypy alone: `type: ignore` stands where a mistake must be found, and mypy reports one that is not."""
import pathlib

import kdl
from kdl import triton as kt

lib: kdl.Library = kdl.open(pathlib.Path("saxpy.offload"), host=False)
arch: str = lib.image(0).arch
names: list[str] = [name for image in lib for name in image.kernels()]
chosen = lib.explain("saxpy", "mi300x").chosen
fit: str = chosen.fit  # type: ignore[union-attr]
if chosen is not None:
    codes: list[str] = [reason.code for reason in chosen.reasons]
kernel: kdl.Kernel = lib["saxpy"]
kernel[4](2.0, None, 0, 4, queue=kdl.Queue(kernel.device))
kernel[4, 4](queue=3)
kernel[4, 4, 4, 4]()  # type: ignore[index]
kernel["4"]()  # type: ignore[index]
kernel.launch(1, grid=(1, 2), block=256, shared=0, cooperative=True)
kernel[4].prepare(2.0, None, 0, 4, queue=None)()
kernel.prepare(1, grid=1)(5)  # type: ignore[arg-type]
kernel.launch(1, gird=1)  # type: ignore[call-arg]
buffer = kdl.Buffer("host", 16)
buffer.write(b"data", offset=4)
buffer.fill(0)
buffer.address = 5  # type: ignore[misc]
seconds: float = kdl.Event("host").elapsed(kdl.Event("host"))
total: int = kdl.devices()[0].memory_info()[1]
packed: bytes = kdl.Writer("v1").bytes()
kdl.Writer().add(packed, triple="t", arch=5)  # type: ignore[arg-type]
library: kdl.Library = kdl.compile("saxpy.c", targets=["native", "sm_90"])
report: kdl.Report = kdl.thin(pathlib.Path("a.so"), device=[kdl.device("h100"), "a100"], output="b.so")
kdl.thin("a.so", devices="h100")  # type: ignore[call-arg]
spans: list[dict[str, int]] = kdl.trace(["program", "argument"], gpu_time=True)["layers"]
weights = kdl.PackedMatrix([[1.0]])
kdl.matmul(weights)  # type: ignore[call-arg]
model: kdl.Model = kdl.load_model(pathlib.Path("model.so"))
shapes = [one.shape for one in model.functions["main"][0]]
model.main(weights, 2.0, out=None)
model.functions["main"][1][0].shape = ()  # type: ignore[misc]
try:
    kt.pack_cache("cache", names=["softmax"])
    kt.compile(print, {"x": "*fp32"}, targets=["h200", kdl.device("mi300x")])
except kdl.DeviceError as error:
    number: int = error.code
