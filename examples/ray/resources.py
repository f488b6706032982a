#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a machine has, as resources of Ray's: for each device its backend and its architecture, as kdl.devices() tells them.

    ray start --head --resources="$(python3 examples/ray/resources.py)"
    {"kdl:cuda": 8, "kdl:sm_90": 8, "kdl:host": 1, "kdl:x86-64-v4": 1}

A CPU runs what was compiled for the levels below its own: they are resources too. Tasks say which of them they need:
@ray.remote(resources={"kdl:sm_90": 1})."""
import collections
import json
import os
import re

import kdl

LEVELS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


def names(device):
    """The resources that one device is."""
    arch = re.split("[:+]", device.arch)[0]
    archs = LEVELS[: LEVELS.index(arch) + 1] if arch in LEVELS else [arch]
    return [f"kdl:{name}" for name in [device.backend, *archs] if name]


def resources():
    """Those of this machine, or of the one backend that KDL_DEVICE names."""
    only = os.environ.get("KDL_DEVICE")
    found = collections.Counter()
    for device in kdl.devices():
        if not only or device.backend == only:
            found.update(names(device))
    return dict(found)


def device_of(resource):
    """The best device of this machine that is such a resource."""
    return next(device for device in kdl.devices() if resource in names(device))


if __name__ == "__main__":
    print(json.dumps(resources()))
