# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two layers of a network on the CPU, y = relu(x W1) W2: the weights are packed once, and then multiplied with batch after batch."""
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy not found")
    sys.exit(77)

import kdl

# %% Weights, in float32 and as signed bytes.
random = np.random.default_rng(0)
first, second = random.standard_normal((96, 200), np.float32), random.standard_normal((200, 50), np.float32)
try:
    packed = kdl.PackedMatrix(first), kdl.PackedMatrix(second)
except (kdl.Error, OSError) as error:
    print(f"skipped: {error}")
    sys.exit(77)
print(packed)

# %% Batches.
for batch in range(3):
    x = random.standard_normal((24, 96), np.float32)
    y = np.maximum(x @ packed[0], 0) @ packed[1]
    expected = np.maximum(x.astype(np.float64) @ first, 0) @ second
    assert np.allclose(y, expected, rtol=1e-4, atol=1e-3)
    print(f"batch {batch}: right")

# %% Other types: bytes give 32-bit integers, exactly.
a, b = (random.integers(-128, 128, shape, np.int8) for shape in ((24, 96), (96, 50)))
assert np.array_equal(kdl.matmul(a, b), a.astype(np.int32) @ b.astype(np.int32))

# %% What ran: the image for this CPU, and the microkernel that it was linked with.
library = kdl.matmul_library()
image = library.image(library.kernel("kdl_matmul_f32_f32", "host").info()["image"])
print(image.arch, {key: value for key, value in image.metadata.items() if key.startswith("kdl.linked.")})
