#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sdist.sh PACKAGE WORK: the source distribution that package.sh made has all that libkdl is built from: it is configured as setup.py
# does it, and each file that the build would compile is there. A Python that it cannot be built for is told so.
set -eu
package=$1 work=$2
set -- "$package"/dist/*.tar.gz
[ -e "$1" ] || {
  echo "skipped: python.package has built nothing"
  exit 77
}
rm -rf "$work"
mkdir -p "$work"
tar -xzf "$1" -C "$work" --strip-components=1
said=$(cd "$work" && "$package/venv/bin/python" -c 'import runpy, sys, sysconfig
sysconfig.get_config_vars()["Py_GIL_DISABLED"] = 1
sys.argv = ["setup.py", "--version"]
runpy.run_path("setup.py", run_name="__main__")' 2>&1) && {
  echo "setup.py did not refuse a free-threaded Python: $said"
  exit 1
}
echo "$said" | grep 'libkdl: this Python is free-threaded'
cmake -S "$work/libkdl" -B "$work/build" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release -DKDL_BUILD_TESTS=OFF -DKDL_BUILD_BENCH=OFF
exec cmake --build "$work/build" --target kdl -- -n
