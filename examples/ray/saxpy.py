#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One bundle for machines that differ, over Ray: it is put into the object store once, and each worker chooses the image for the device that
it finds.

    ray start --head --resources="$(python3 examples/ray/resources.py)"        # on one machine
    ray start --address=HEAD:6379 --resources="$(python3 examples/ray/resources.py)"    # on the others
    python3 examples/ray/saxpy.py saxpy.offload kdl:x86-64-v2 kdl:cuda          # a task and an actor on each kind of device

Where GPUs are resources of Ray's own too (num_gpus=1), it sets CUDA_VISIBLE_DEVICES for each worker, and a worker finds those alone."""
import pathlib
import sys

import numpy as np
import ray

import kdl
import resources

ray.cloudpickle.register_pickle_by_value(resources)  # other machines do not have this file


def launch(kernel, a, x, y):
    """a x + y, in memory of the kernel's device."""
    there = [kdl.Buffer(kernel.device, array.nbytes) for array in (x, y)]
    for buffer, array in zip(there, (x, y)):
        buffer.write(np.ascontiguousarray(array))
    kernel[x.size](a, *there, x.size)
    result = np.empty_like(y)
    there[1].read(result)
    return result


def find(bundle, resource):
    """The kernel for the device that this worker has; the bytes come from the object store."""
    return kdl.open(bundle).kernel("saxpy", resources.device_of(resource))


@ray.remote
def saxpy(bundle, resource, a, x, y):
    """A task: opens the bundle, and is done."""
    kernel = find(bundle, resource)
    result = launch(kernel, a, x, y)
    return f"{kernel.device.label}, image {kernel.info()['image']}", result


@ray.remote
class Saxpy:
    """An actor: opens it once, and launches often."""

    def __init__(self, bundle, resource):
        self.kernel = find(bundle, resource)

    def run(self, a, x, y):
        """One launch of many."""
        return launch(self.kernel, a, x, y)


def main():
    """A task and an actor for each resource that is named."""
    bundle = ray.put(pathlib.Path(sys.argv[1]).read_bytes())
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    for resource in sys.argv[2:]:
        device, result = ray.get(saxpy.options(resources={resource: 1}).remote(bundle, resource, 2.0, x, y))
        assert np.array_equal(result, 2 * x + y), resource
        actor = Saxpy.options(resources={resource: 1}).remote(bundle, resource)
        for a in range(3):
            assert np.array_equal(ray.get(actor.run.remote(float(a), x, y)), a * x + y), resource
        ray.kill(actor)
        print(f"{resource}: right, on {device}")


if __name__ == "__main__":
    ray.init(address="auto", logging_level="error")
    main()
