# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A provider for variant wheels: which architectures this machine runs, the best first.

The answer is that of `kdl devices --runs`, so that an installer selects a wheel by the same rules
by which libkdl selects an image. No function raises: without `kdl`, without a device, or if `kdl`
fails, no variant is supported, and an installer uses the wheel without a variant.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from kdl_variant_provider.known import KNOWN

__all__ = ["VariantFeatureConfig", "get_all_configs", "get_supported_configs"]

logger = logging.getLogger(__name__)

# Depends on the machine: a build must not record it.
all_properties_compatible = False

# kdl itself gives drivers 30 s.
TIMEOUT_S = 60

VALUE = re.compile(r"[a-z0-9_.]+")


@dataclass(frozen=True)
class VariantFeatureConfig:
    """A feature and its values, the most preferred first."""

    name: str
    values: list[str]
    multi_value: bool = True  # a wheel may hold code for several


def property_of(row: dict) -> tuple[str, str] | None:
    """Feature and value for a row of `kdl devices --runs --json`; None if there are none."""
    arch = row.get("arch")
    kind = row.get("image_kind")
    if not isinstance(arch, str) or not isinstance(kind, str):
        return None
    value = arch.replace("-", "_")
    if kind in ("cubin", "ptx"):
        feature = "nvidia"
    elif kind == "hsaco" or arch == "amdgcnspirv":
        feature = "amd"
    elif kind == "zebin":
        feature = "intel"
    elif kind == "spirv":
        feature, value = "spirv", str(row.get("version", ""))
    elif kind == "cl":
        feature, value = "opencl", "c"
    elif arch.startswith("x86"):
        feature = "x86_64"
    elif arch.startswith("arm"):
        feature = "aarch64"
    elif arch.startswith("rv"):
        feature = "riscv64"
    else:
        return None
    return (feature, value) if VALUE.fullmatch(value) else None


def features_of(document: dict, only_supported: bool) -> dict[str, list[str]]:
    """Feature to values, in the order of devices and of preference."""
    features: dict[str, list[str]] = {}
    for device in document.get("devices", []):
        for row in device.get("architectures", []):
            found = property_of(row) if row.get("runs") or not only_supported else None
            if found and found[1] not in features.setdefault(found[0], []):
                features[found[0]].append(found[1])
    return features


def kdl_program() -> str | None:
    return os.environ.get("KDL") or shutil.which("kdl")


def ask_kdl(*options: str) -> dict:
    """The output of `kdl devices --runs --json`; an empty document if there is none."""
    program = kdl_program()
    if not program:
        logger.info("kdl is not on PATH and KDL is not set: no architecture is supported")
        return {}
    command = [program, "devices", "--runs", "--json", *options]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode("utf8", "replace").strip() or
                             f"exit code {done.returncode}")
        document = json.loads(done.stdout)
        if not isinstance(document, dict) or not isinstance(document.get("devices"), list):
            raise ValueError("found no array 'devices' in its answer")
        return document
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        logger.warning("%s: %s: no architecture is supported", program, error)
        return {}


def devices_given() -> list[str]:
    """KDL_VARIANT_DEVICES: the devices to use instead of this machine's, separated by ';'."""
    words = os.environ.get("KDL_VARIANT_DEVICES", "").split(";")
    return [f"--device={word.strip()}" for word in words if word.strip()]


def get_all_configs() -> list[VariantFeatureConfig]:
    """Every property that a wheel may have; the same on every machine."""
    return [VariantFeatureConfig(name, list(values)) for name, values in KNOWN.items()]


def get_supported_configs() -> list[VariantFeatureConfig]:
    """What this machine runs."""
    try:
        features = features_of(ask_kdl(*devices_given()), only_supported=True)
    except (AttributeError, TypeError) as error:  # rows of another form
        logger.warning("kdl devices --runs: %s: no architecture is supported", error)
        return []
    return [VariantFeatureConfig(name, values) for name, values in features.items()]
