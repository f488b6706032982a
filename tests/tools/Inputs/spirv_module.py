# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spirv_module.py LIBRARY DIR: compares what `kdl ls --kernels` says of the SPIR-V modules in a library with what
spirv-dis reads in them: version, entry points, the sizes and storage of their parameters, and the block they require."""

import json
import pathlib
import re
import subprocess
import sys

library, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fail(words):
    sys.exit(words)


class Module:
    def __init__(self, path):
        self.text = output("spirv-dis", "--no-indent", "--raw-id", path)

    def find(self, pattern):
        return re.search(pattern, self.text, flags=re.M)

    def entry_points(self):
        return dict(re.findall(r'^OpEntryPoint Kernel (%\d+) "([^"]+)"', self.text, flags=re.M))

    def storage(self, kind):
        """(bytes, "CrossWorkgroup" or "value") of a type."""
        pointer = self.find(rf"^{kind} = OpTypePointer (\w+) %\d+$")
        if pointer:
            return 8, pointer[1]
        number = self.find(rf"^{kind} = OpType(?:Int|Float) (\d+)")
        return int(number[1]) // 8, "value"

    def parameters(self, function):
        kind = self.find(rf"^{function} = OpFunction %\d+ \w+ (%\d+)$")[1]
        types = self.find(rf"^{kind} = OpTypeFunction %\d+((?: %\d+)*)$")[1].split()
        return [self.storage(one) for one in types]

    def block(self, function):
        mode = self.find(rf"^OpExecutionMode {function} LocalSize (\d+) (\d+) (\d+)$")
        return "x".join(mode.groups()) if mode else None


def expected(signature):
    for word in signature.split():
        if word.startswith("ptr<"):
            yield 8, "CrossWorkgroup"
        else:
            yield int(re.search(r"\d+$", word)[0]) // 8, "value"


def compare(image, path):
    module = Module(path)
    metadata = image["metadata"]
    version = module.find(r"^; Version: (\d+\.\d+)$")[1]
    if version != metadata["kdl.version"]:
        fail(f"kdl says version {metadata['kdl.version']}, the module {version}")
    entries = module.entry_points()
    if sorted(entries.values()) != sorted(image["kernels"]):
        fail(f"kdl lists {sorted(image['kernels'])}, the module {sorted(entries.values())}")
    for function, name in entries.items():
        fields = dict(field.strip().split("=", 1) for field in metadata["kdl.kernel." + name].split(";"))
        mine, theirs = list(expected(fields["sig"])), module.parameters(function)
        if mine != theirs:
            fail(f"{name}: kdl says {mine}, the module {theirs}")
        block = module.block(function)
        if block and block != fields["block"]:
            fail(f"{name}: kdl says a block of {fields['block']}, the module {block}")
    return len(entries)


folder.mkdir(exist_ok=True)
images = [image for image in json.loads(output("kdl", "ls", "--json", "--kernels", library))["images"]
          if image["image_kind"] == "spirv"]
count = 0
for image in images:
    path = folder / "image.spv"
    output("kdl", "extract", library, f"--image={image['index']}", "-o", str(path))
    count += compare(image, str(path))
print(f"{len(images)} modules, {count} kernels: versions, entry points and parameters agree")
