#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# torch.sh SOURCE PACKAGE ENVIRONMENT: the tests and examples that need PyTorch and Triton, with the wheel that package.sh built in PACKAGE and the
# Python of ENVIRONMENT, which scripts/torch.sh makes.
set -eu
source=$1 package=$2 environment=$3
[ -x "$environment/bin/python" ] || {
  echo "skipped: no PyTorch in $environment (scripts/torch.sh puts it there)"
  exit 77
}
set -- "$package"/dist/*.whl
[ -e "$1" ] || {
  echo "skipped: python.package has built nothing"
  exit 77
}
python=$environment/bin/python
rm -rf "$package/torch"
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$package/torch" "$1"
chmod +x "$package/torch/kdl/bin/kdl"
export PYTHONPATH="$package/torch" TORCHINDUCTOR_CACHE_DIR="$package/torch/cache"
cd "$package"
"$python" -B -m pytest -q -W ignore -p no:cacheprovider "$source/python/tests/test_torch.py" "$source/python/tests/test_triton.py" "$source/python/tests/test_launch.py" "$source/python/tests/test_matmul_packages.py"
for example in torch_op saxpy triton_bundle; do
  status=0
  "$python" -B "$source/examples/python/$example.py" || status=$?
  [ "$status" = 0 ] || [ "$status" = 77 ]
done
