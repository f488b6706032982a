#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# variantlib.sh FOLDER: puts variantlib, the reference library of Python's variant wheels, into FOLDER,
# for the tests of python/variants. It comes from the Python package index (under 1 MB), and nothing
# outside FOLDER is touched. Where it cannot be had, the test that needs it is reported as skipped.
set -euo pipefail

name=variantlib tests="the tests of variant wheels" python=python3
# shellcheck source=scripts/pypi.sh
. "$(dirname "$0")/pypi.sh"

fetch "" install --no-compile --root-user-action ignore --target "$work"
finish
