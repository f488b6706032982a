#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cuda-tools.sh FOLDER: puts NVIDIA's ptxas, fatbinary, cuobjdump, nvdisasm and libdevice into FOLDER, for tests: they need no GPU. They
# come from the Python package index (63 MB), under NVIDIA's licence for CUDA, and nothing outside FOLDER is touched. Where they cannot be
# had, the tests that need them are reported as skipped; a toolkit in PATH or /usr/local/cuda comes first.
set -euo pipefail

name=cuda-tools tests="tests on NVIDIA's programs" python=python3
# shellcheck source=scripts/pypi.sh
. "$(dirname "$0")/pypi.sh"

require_x86_64
fetch "NVIDIA's ptxas, cuobjdump, nvdisasm and libdevice (63 MB)" download --dest "$work/wheels"

python3 - "$work" <<'EOF'
import glob, os, re, shutil, sys, zipfile

work = sys.argv[1]
wanted = re.compile(r"nvidia/cu13/(bin/(?:ptxas|fatbinary|cuobjdump|nvdisasm))$|nvidia/cuda_nvcc/(nvvm/libdevice/.*\.bc)$|.*/(License\.txt)$")
for wheel in glob.glob(f"{work}/wheels/*.whl"):
    with zipfile.ZipFile(wheel) as members:
        for name in members.namelist():
            if found := wanted.match(name):
                path = f"{work}/{next(filter(None, found.groups()))}"
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with members.open(name) as source, open(path, "wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                if "/bin/" in name:
                    os.chmod(path, 0o755)
EOF
rm -rf "$work/wheels"
finish
say "done; its licence is $folder/License.txt"
