# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing what Triton compiled: from records as Triton's objects and cache have them, without Triton."""
import collections
import json
import shutil

import pytest

import kdl
from kdl import triton as kt

TTIR = """
module {
  tt.func public @softmax(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("a.py":3:0), %y: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                          %columns: i32 loc(unknown), %scale: f32, %flags: !tt.ptr<i1>) attributes {noinline = false} {
"""
PTX = ".visible .entry softmax(\n.param .u64 a,\n.param .u64 b,\n.param .u32 c,\n.param .f32 d,\n.param .u64 e,\n.param .u64 f,\n.param .u64 g\n)\n"
Target = collections.namedtuple("Target", "backend arch warp_size")
Metadata = collections.namedtuple("Metadata", "name target num_warps shared")
Compiled = collections.namedtuple("Compiled", "metadata asm")


@pytest.fixture
def cubin(library):
    return library.image(2).bytes()


def compiled(cubin, **changes):
    asm = {"ttir": TTIR, "ptx": PTX, "cubin": cubin, **changes}
    return Compiled(Metadata("softmax", Target("cuda", 90, 32), 4, 16), asm)


def test_signature_block_memory_and_hidden_parameters(cubin):
    image = kdl.open(kt.pack(compiled(cubin))).image(0)
    assert image.arch == "sm_90" and image.bytes() == cubin
    assert image.metadata["kdl.kernel.softmax"] == \
        "sig=ptr<f32> ptr<f32> i32 f32 ptr<i8>; block=128x1x1; tile=1x1x1; shared=16; hidden=2"
    assert image.metadata["kdl.triton.softmax"] == "multiples=16 16 1 1 1"


def test_the_architecture_is_the_image_s_own():
    if not shutil.which("clang-22"):
        pytest.skip("clang not found (Debian: clang-22)")
    image = kdl.compile("k.c", text="#include <kdl/kernel.h>\n__gpu_kernel void softmax(void) {}\n", targets="sm_90a").image(0)
    if image.kind != "cubin":
        pytest.skip("kdl cc found no ptxas to make cubins with")
    packed = kdl.open(kt.pack(compiled(image.bytes())))
    assert packed.image(0).arch == "sm_90a"
    assert packed.explain("softmax", "h200").chosen and not packed.explain("softmax", "b200").chosen


def test_the_cache_of_triton(cubin, tmp_path):
    for number, arch in enumerate((80, 90)):
        folder = tmp_path / f"HASH{number}"
        folder.mkdir()
        for stage, data in (("ttir", TTIR.encode()), ("ptx", PTX.encode()), ("cubin", cubin)):
            (folder / f"softmax.{stage}").write_bytes(data)
        (folder / "softmax.json").write_text(json.dumps({"name": "softmax", "target": {"backend": "cuda", "arch": arch, "warp_size": 32},
                                                         "num_warps": 8, "shared": 0}), encoding="utf-8")
        (folder / "__grp__softmax.json").write_text('{"child_paths": {}}', encoding="utf-8")
    kt.pack_cache(tmp_path, path=tmp_path / "all.offload")
    library = kdl.open(tmp_path / "all.offload")
    assert sorted(image.arch for image in library) == ["sm_80", "sm_90"]
    assert library.explain("softmax", "h200").chosen.image.arch == "sm_90"
    with pytest.raises(FileNotFoundError):
        kt.pack_cache(tmp_path, names=["other"])


@pytest.mark.parametrize("target, expected", [("sm_90", ("cuda", 90, 32)), ("sm_90a", ("cuda", 90, 32)), ("h200", ("cuda", 90, 32)), ("a100", ("cuda", 80, 32)),
                                              ("gfx942", ("hip", "gfx942", 64)), ("mi300x", ("hip", "gfx942", 64)), ("rx7900xtx", ("hip", "gfx1100", 32))])
def test_targets_are_architectures_and_devices(target, expected):
    assert kt._target(target) == expected
    assert target.startswith(("sm_", "gfx")) or kt._target(kdl.device(target)) == expected


@pytest.mark.parametrize("targets, text", [(["h2000"], "targets: found 'h2000', expected 'sm_90', 'gfx942' or a device as 'h200': "), ("host", "found 'host', which is ")])
def test_other_targets_are_refused_before_triton_is_asked(targets, text):
    with pytest.raises(ValueError, match=text):
        kt.compile(None, {}, targets=targets)


@pytest.mark.parametrize("ttir, text", [
    (TTIR.replace("%columns: i32", "%d: !tt.tensordesc<tensor<64x64xf16>>"), "argument 2: found !tt.tensordesc"),
    (TTIR.replace("@softmax", "@other"), "found no such function"),
    (TTIR.split("%flags")[0], "ends inside"),
])
def test_what_is_refused(cubin, ttir, text):
    with pytest.raises(ValueError, match=text):
        kt.pack(compiled(cubin, ttir=ttir))
