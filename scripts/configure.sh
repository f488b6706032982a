#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# configure.sh PRESET: configures the build of a preset as a fresh clone on this machine would be.
#
# CMake keeps what it once found: a compiler, and that there was no other. So where programs, headers or
# libraries have come or gone since, or the environment chooses otherwise, it starts from scratch; objects
# that are compiled by the same command stay. Which compiler is used says cmake/compiler.cmake.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
case $preset in
  default) folder=build ;;
  *) folder=build/$preset ;;
esac
record=$folder/machine.txt

# Whatever is installed changes a folder of these, or a package manager's list.
machine() {
  local name
  for name in PATH CC CXX CFLAGS CXXFLAGS LDFLAGS CPATH LIBRARY_PATH CMAKE_PREFIX_PATH \
    CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER; do
    printf '%s=%s\n' "$name" "${!name-}"
  done
  IFS=: read -ra places <<<"$PATH"
  places+=(/usr/include /usr/include/*-linux-gnu /usr/lib /usr/lib64 /usr/lib/*-linux-gnu /usr/lib/llvm-*/{bin,include,lib}
    /usr/local/include /usr/local/lib /usr/local/cuda/bin /usr/local/cuda/include /opt/rocm/include
    /var/lib/dpkg/status /var/lib/rpm /usr/lib/sysimage/rpm /var/lib/pacman/local)
  stat -L -c '%n %Y' "${places[@]}" 2>/dev/null | sort -u || true
  cksum CMakePresets.json cmake/compiler.cmake cmake/prefer-clang.cmake
}

now=$(machine)
fresh=()
if [ -e "$folder/CMakeCache.txt" ] && [ "$now" != "$(cat "$record" 2>/dev/null)" ]; then
  echo "configure: what is installed has changed since $folder was configured, or its options have: it is configured afresh"
  fresh=(--fresh)
fi
log=$(cmake --preset "$preset" "${fresh[@]}" --log-level=WARNING) || {
  printf '%s\n' "$log"
  exit 1
}
printf '%s\n' "$now" >"$record"
