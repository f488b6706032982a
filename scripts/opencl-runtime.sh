#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# opencl-runtime.sh FOLDER: puts Intel's OpenCL for CPUs into FOLDER, for tests: the one driver that
# takes SPIR-V and has unified shared memory on any x86-64 machine. It comes from the Python package
# index (270 MB), under Intel's licence for developer tools, and nothing outside FOLDER is touched.
# Where it cannot be had, the tests that need it are reported as skipped.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
list=$here/opencl-runtime.txt
[ $# = 1 ] || {
  echo "usage: opencl-runtime.sh FOLDER" >&2
  exit 2
}
folder=$1

say() { printf 'opencl-runtime: %s\n' "$*"; }
skip() {
  say "$*: tests on Intel's OpenCL will be skipped"
  exit 0
}

if cmp -s "$list" "$folder/list.txt"; then
  exit 0
fi
[ "$(uname -m)" = x86_64 ] || skip "there is none for $(uname -m)"
python3 -m pip --version >/dev/null 2>&1 || skip "pip not found (Debian: python3-pip)"

work=$folder.new
rm -rf "$work"
mkdir -p "$work/wheels"
trap 'rm -rf "$work"' EXIT
say "fetching Intel's OpenCL runtime for CPUs (270 MB) into $folder"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --require-hashes --retries 1 --timeout 30 --dest "$work/wheels" -r "$list" ||
  skip "the Python package index did not give it"

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
mkdir -p "$(dirname "$folder")"
printf '%s\n' "$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")/libintelocl.so" >"$work/vendors/intel.icd"
cp "$list" "$work/list.txt"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
say "done; its licence is $folder/EULA.txt"
