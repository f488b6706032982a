#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""variants.py KDL [VARIANTLIB]: the provider of variant wheels by itself, or under variantlib from
the folder that scripts/variantlib.sh fills."""

import json
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python/variants/src"
KDL = sys.argv[1]
VARIANTLIB = Path(sys.argv[2]) if len(sys.argv) > 2 else None
sys.path.insert(0, str(SOURCE))
if VARIANTLIB:
    sys.path.insert(0, str(VARIANTLIB))
# variantlib asks a provider in a process of its own.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2] if VARIANTLIB else sys.path[:1])
os.environ["KDL"] = KDL

import kdl_variant_provider as provider  # noqa: E402

HOPPER = "cuda:sm_90 driver=12.8"
INSTINCT = "hip:gfx90a:sramecc+:xnack- driver=6.4"
CPU = "host:x86-64-v3"


def supported(*devices):
    os.environ["KDL_VARIANT_DEVICES"] = "; ".join(devices)
    return {config.name: config.values for config in provider.get_supported_configs()}


class Provider(unittest.TestCase):
    def setUp(self):
        self.environment = dict(os.environ)

    def tearDown(self):
        os.environ.clear()
        os.environ.update(self.environment)

    def fake_kdl(self, answer, code=0):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / "kdl"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {code}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        os.environ["KDL"] = str(program)

    def test_machine_code_comes_before_ptx(self):
        values = supported(HOPPER)["nvidia"]
        self.assertEqual(values[:4], ["sm_90a", "sm_90", "compute_90a", "compute_90"])
        self.assertIn("compute_80", values)
        self.assertNotIn("sm_80", values)
        self.assertNotIn("compute_100", values)

    def test_old_drivers_do_not_take_ptx_of_later_ones(self):
        self.assertNotIn("compute_90a", supported("cuda:sm_90 driver=11.8")["nvidia"])

    def test_amd_has_generic_processors(self):
        self.assertEqual(supported(INSTINCT)["amd"][0], "gfx90a")
        self.assertEqual(supported("hip:gfx942 driver=6.4")["amd"][:2], ["gfx942", "gfx9_4_generic"])

    def test_cpu_levels_go_down(self):
        self.assertEqual(supported(CPU), {"x86_64": ["x86_64_v3", "x86_64_v2", "x86_64"]})

    def test_devices_keep_their_order(self):
        self.assertEqual(list(supported(INSTINCT, HOPPER, CPU)), ["amd", "nvidia", "x86_64"])

    def test_this_machine_has_a_cpu(self):
        os.environ.pop("KDL_VARIANT_DEVICES", None)
        names = {config.name for config in provider.get_supported_configs()}
        self.assertTrue(names & {"x86_64", "aarch64", "riscv64"}, names)

    def test_all_is_what_kdl_knows(self):
        known = provider.features_of(provider.ask_kdl("--all", "--device=" + CPU), False)
        self.assertEqual({name: sorted(values) for name, values in known.items()},
                         {config.name: config.values for config in provider.get_all_configs()},
                         "run tests/python/write_known.py")

    def test_all_covers_what_is_supported(self):
        known = {config.name: config.values for config in provider.get_all_configs()}
        for name, values in supported(HOPPER, INSTINCT, "pvc", "grace", CPU).items():
            self.assertLessEqual(set(values), set(known[name]))

    def test_nothing_breaks_an_install(self):
        logger = "kdl_variant_provider"
        os.environ["KDL"] = "/nonexistent/kdl"
        with self.assertLogs(logger, "WARNING"):
            self.assertEqual(provider.get_supported_configs(), [])
        for answer, code in [("", 0), ("{", 0), ("[]", 0), ('{"devices": 3}', 0), ("{}", 0),
                             ('{"devices": []}', 7), ('{"devices": [3]}', 0),
                             ('{"devices": [{"architectures": [3]}]}', 0),
                             ('{"devices": [{"architectures": 3}]}', 0)]:
            self.fake_kdl(answer, code)
            with self.assertLogs(logger, "WARNING"):
                self.assertEqual(provider.get_supported_configs(), [], answer)

    def test_no_device_is_an_empty_list(self):
        self.fake_kdl('{"devices": []}')
        self.assertEqual(provider.get_supported_configs(), [])
        os.environ.pop("KDL")
        os.environ["PATH"] = "/nonexistent"
        self.assertEqual(provider.get_supported_configs(), [])

    def test_values_that_a_property_cannot_have_are_left_out(self):
        rows = [{"arch": arch, "image_kind": "hsaco", "runs": True}
                for arch in ("gfx90a:xnack+", "gfx90a", "GFX", "")]
        self.fake_kdl(json.dumps({"devices": [{"architectures": rows}]}))
        self.assertEqual(provider.get_supported_configs()[0].values, ["gfx90a"])

    def test_a_wrong_device_is_no_error(self):
        with self.assertLogs("kdl_variant_provider", "WARNING"):
            self.assertEqual(supported("cuda:sm_nonsense"), {})


class UnderVariantlib(unittest.TestCase):
    """Three wheels, and which of them variantlib takes."""

    WHEELS = {
        "cu": {"kdl": {"nvidia": ["sm_80", "sm_90", "compute_90"]}},
        "rocm": {"kdl": {"amd": ["gfx90a", "gfx942"]}},
        "cpu": {"kdl": {"x86_64": ["x86_64_v3"]}},
    }

    def order(self, wheels, *devices):
        from variantlib.api import get_variants_by_priority
        from variantlib.constants import VARIANT_INFO_SCHEMA_URL
        from variantlib.plugins import loader

        loader.VARIANT_PROVIDER_CACHE_TABLE.clear()
        os.environ["KDL_VARIANT_DEVICES"] = "; ".join(devices)
        index = {
            "$schema": VARIANT_INFO_SCHEMA_URL,
            "default-priorities": {"namespace": ["kdl"]},
            "providers": {"kdl": {"requires": ["kdl-variant-provider"]}},
            "variants": {**wheels, "null": {}},
        }
        return [variant.label for variant in get_variants_by_priority(variants_json=index)]

    def test_each_machine_gets_its_wheel(self):
        self.assertEqual(self.order(self.WHEELS, HOPPER), ["cu", "null"])
        self.assertEqual(self.order(self.WHEELS, INSTINCT), ["rocm", "null"])
        self.assertEqual(self.order(self.WHEELS, CPU), ["cpu", "null"])
        self.assertEqual(self.order(self.WHEELS, "host:x86-64-v2"), ["null"])

    def test_a_gpu_goes_before_the_cpu(self):
        self.assertEqual(self.order(self.WHEELS, HOPPER, CPU), ["cu", "cpu", "null"])

    def test_the_nearest_architecture_is_first(self):
        wheels = {name: {"kdl": {"nvidia": [value]}} for name, value in
                  {"ptx80": "compute_80", "a": "sm_90a", "plain": "sm_90", "ptx90": "compute_90",
                   "ampere": "sm_80", "blackwell": "sm_100"}.items()}
        self.assertEqual(self.order(wheels, HOPPER), ["a", "plain", "ptx90", "ptx80", "null"])

    def test_properties_are_validated(self):
        from variantlib.api import VariantDescription, VariantProperty, validate_variant
        from variantlib.models.variant_info import ProviderInfo, VariantInfo

        info = VariantInfo(providers={"kdl": ProviderInfo(requires=["kdl-variant-provider"])})
        good = VariantProperty("kdl", "nvidia", "sm_90")
        bad = VariantProperty("kdl", "nvidia", "sm_91")
        result = validate_variant(VariantDescription([good, bad]), info)
        self.assertEqual((result.results[good], result.results[bad]), (True, False))


if __name__ == "__main__":
    if VARIANTLIB and not (VARIANTLIB / "variantlib").is_dir():
        print(f"skipped: {VARIANTLIB} is not there (scripts/variantlib.sh build/variantlib)")
        sys.exit(77)
    if VARIANTLIB and sys.version_info < (3, 10):
        print("skipped: variantlib needs Python 3.10")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "UnderVariantlib" if VARIANTLIB else "Provider"])
