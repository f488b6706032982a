# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""agree.py WORK FILE...: devices choose by a manifest as they do by the file.

Each file is pushed into a layout below WORK and pulled for each device. The device must choose the same
bytes of what was pulled as of the file, for every kernel and for none; or nothing of both."""
import json
import os
import subprocess
import sys

DEVICES = ["h200", "rtx5090", "mi210", "rx7900xtx", "pvc", "zen4", "cuda:sm_75 driver=11.0"]


def kdl(*words):
    done = subprocess.run(["kdl", *words], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def kernels(path):
    listed = json.loads(kdl("ls", "--json", "--kernels", path)[1])
    return sorted({name for image in listed["images"] for name in image.get("kernels") or []})


def chosen(path, device, kernel):
    words = ["extract", path, f"--for={device}", "-o", "-"] + ([kernel] if kernel else [])
    code, data, _ = kdl(*words)
    return data if code == 0 else None


def main(work, files):
    pulls = left = wrong = 0
    for number, path in enumerate(files):
        code, _, text = kdl("push", path, f"oci:{work}/layout:f{number}")
        if code:
            sys.exit(f"{path}: not pushed: {text}")
        names = [None] + kernels(path)
        for device in DEVICES:
            part = os.path.join(work, "part")
            code, said, text = kdl("pull", f"oci:{work}/layout:f{number}", f"--for={device}", "-o", part)
            whole = [chosen(path, device, name) for name in names]
            if code == 3:
                found = [None] * len(names)
            elif code:
                sys.exit(f"{path}: not pulled for {device}: {text}")
            else:
                found = [chosen(part, device, name) for name in names]
                words = said.split()
                left += int(words[3]) - int(words[1])
                pulls += 1
            for name, one, other in zip(names, whole, found):
                if one != other:
                    wrong += 1
                    print(f"{path}: {device}: {name}: {one and len(one)} bytes of the file, "
                          f"{other and len(other)} of what was pulled")
    print(f"{pulls} pulls, {left} images left where they were, {wrong} choices differ")
    return wrong != 0 or pulls == 0 or left == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
