#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ml-dtypes.sh FOLDER: puts ml_dtypes, NumPy's bfloat16, into FOLDER, for the tests of kdl.matmul. It comes from the Python package
# index (5 MB), and nothing outside FOLDER is touched. Where it cannot be had, the tests that need it are reported as skipped.
set -euo pipefail

name=ml-dtypes tests="the tests with arrays of ml_dtypes" python=/usr/bin/python3
# shellcheck source=scripts/pypi.sh
. "$(dirname "$0")/pypi.sh"
require_x86_64

fetch "" install --no-compile --root-user-action ignore --target "$work"
finish
