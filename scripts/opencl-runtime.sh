#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# opencl-runtime.sh FOLDER: puts Intel's OpenCL for CPUs into FOLDER, for tests: the one driver that
# takes SPIR-V and has unified shared memory on any x86-64 machine. It comes from the Python package
# index (270 MB), under Intel's licence for developer tools, and nothing outside FOLDER is touched.
# Where it cannot be had, the tests that need it are reported as skipped.
set -euo pipefail

name=opencl-runtime tests="tests on Intel's OpenCL" python=python3
# shellcheck source=scripts/pypi.sh
. "$(dirname "$0")/pypi.sh"

require_x86_64
fetch "Intel's OpenCL runtime for CPUs (270 MB)" download --dest "$work/wheels"

# A wheel has no links, so that each library is there under all of its names: one is enough.
python3 - "$work" <<'EOF'
import glob, os, re, sys, zipfile

work = sys.argv[1]
unwanted = re.compile(r"libOpenCL|\.py$|tbbbind|tbbmalloc|libtbb\.so$|libtbb\.so\.12\.|"
                      r"libcommon_clang\.so$|libintelocl\.so\.")
wanted = re.compile(r"cl|libintelocl|libcommon_clang|libocl_svml|libtbb|libimf|libsvml|libirng|"
                    r"libintlc\.so\.5")
for wheel in glob.glob(f"{work}/wheels/*.whl"):
    with zipfile.ZipFile(wheel) as members:
        for name in members.namelist():
            base = os.path.basename(name)
            is_library = "/data/lib/" in name and wanted.match(base) and not unwanted.search(base)
            if is_library or base == "EULA.txt":
                with members.open(name) as source, open(f"{work}/{base}", "wb") as target:
                    while part := source.read(1 << 20):
                        target.write(part)
EOF
rm -rf "$work/wheels"
mkdir "$work/vendors"
printf '%s\n' "$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")/libintelocl.so" >"$work/vendors/intel.icd"
finish
say "done; its licence is $folder/EULA.txt"
