#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ray.sh FOLDER: puts Ray, for the test of examples/ray, into FOLDER. It comes from the Python package index (85 MB; 280 MB unpacked), and
# nothing outside FOLDER is touched. Where it cannot be had, the test is reported as skipped.
set -euo pipefail

name=ray tests="the test of examples/ray" python=${PYTHON:-/usr/bin/python3}
# shellcheck source=scripts/pypi.sh
. "$(dirname "$0")/pypi.sh"

require_x86_64
fetch "Ray (85 MB)" install --no-compile --root-user-action ignore --target "$work"
finish
say "done"
