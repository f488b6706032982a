#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setup.sh SOURCE WORK: runs scripts/setup.sh among stand-ins for dpkg, apt and sudo that write
# down what they are asked for, so that nothing is installed and no root is needed.
# shellcheck disable=SC2016 # what stands in single quotes is for the stand-ins' shell
set -euo pipefail
source=$1 work=$2
setup=$source/scripts/setup.sh
calls=$work/calls

fail() {
  echo "setup test: $*" >&2
  echo "--- output:" >&2
  cat "$work/output" >&2
  echo "--- calls:" >&2
  cat "$calls" >&2
  exit 1
}

# stand_in NAME BODY: a program that records its call, then does BODY.
stand_in() {
  printf '#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' "$1" "$calls" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# on ID VERSION [CODENAME [ID_LIKE]]: the system that setup believes to be on.
on() {
  printf 'NAME="%s"\nID=%s\nVERSION_ID="%s"\nVERSION_CODENAME=%s\nID_LIKE="%s"\n' \
    "$1" "$1" "$2" "${3:-}" "${4:-}" >"$work/os-release"
}

reset() {
  rm -rf "$work"
  mkdir -p "$work/bin"
  : >"$calls"
  on debian 12 bookworm
  stand_in id 'echo 1000'
  stand_in sudo 'cat >/dev/null'
  stand_in apt-get ''
  stand_in apt-cache 'echo "  Candidate: 1.0"'
}

run_setup() { KDL_OS_RELEASE=$work/os-release PATH=$work/bin:$PATH "$setup" "$@" </dev/null >"$work/output" 2>&1; }
printed() { grep -q -e "$1" "$work/output" || fail "$case: expected '$1' in the output"; }
called() { grep -q -e "$1" "$calls" || fail "$case: expected a call '$1'"; }
not_called() { ! grep -e "$1" "$calls" || fail "$case: expected no call of '$1'"; }

case="all installed"
reset
stand_in dpkg-query 'printf installed'
run_setup build test || fail "$case: exit code $?"
printed 'nothing to do: all [0-9]* packages for build test are installed'
not_called '^apt'
not_called '^sudo'

case="one missing, candidate known"
reset
stand_in dpkg-query 'for last; do :; done; test "$last" = ninja-build || printf installed'
stand_in apt-cache 'echo "  Candidate: 1.0"'
run_setup build test || fail "$case: exit code $?"
printed 'installing 1 of '
printed '^  ninja-build  *builds'
called '^sudo .*apt-get update'
called '^sudo .*DEBIAN_FRONTEND=noninteractive apt-get install .*--no-remove --no-install-recommends.* ninja-build$'
not_called sources.list

case="LLVM missing, no security source"
reset
stand_in dpkg-query 'for last; do :; done; test "$last" = llvm-22 || printf installed'
stand_in apt-cache "grep -q 'tee /etc' '$calls' && echo '  Candidate: 1.0' || echo '  Candidate: (none)'"
stand_in apt-get 'case $1 in indextargets) echo "bookworm http://mirror.example/debian/" ;; esac'
run_setup build test || fail "$case: exit code $?"
printed 'deb http://mirror.example/debian-security bookworm-security main'
called '^sudo .*tee /etc/apt/sources.list.d/kdl-bookworm-security.list'
called '^sudo .*apt-get update .*sourcelist=/etc/apt/sources.list.d/kdl-bookworm-security.list'
called '^sudo .*apt-get install .* llvm-22$'

case="LLVM is in no archive"
reset
stand_in dpkg-query 'for last; do :; done; test "$last" = llvm-22 || printf installed'
stand_in apt-cache 'echo "  Candidate: (none)"; echo " release n=bookworm-security"'
if run_setup build test; then fail "$case: expected a failure"; fi
printed 'no candidate for llvm-22, although bookworm-security is among the sources'
not_called 'apt-get install'

case="the mirror has no security archive"
reset
stand_in dpkg-query 'for last; do :; done; test "$last" = llvm-22 || printf installed'
stand_in apt-cache 'echo "  Candidate: (none)"'
stand_in apt-get 'case $1 in indextargets) echo "bookworm http://mirror.example/debian/" ;; esac'
stand_in sudo 'cat >/dev/null; case $* in *error-on=any*) exit 100 ;; esac'
if run_setup build test; then fail "$case: expected a failure"; fi
printed 'http://mirror.example/debian-security gives no bookworm-security'
printed 'http://deb.debian.org/debian-security gives no bookworm-security'
printed 'no mirror with bookworm-security could be reached'
called '^sudo .*rm -f /etc/apt/sources.list.d/kdl-bookworm-security.list'
not_called 'apt-get install'

case="Debian 13: one package has another name"
reset
on debian 13 trixie
stand_in dpkg-query 'for last; do :; done; case $last in rocm-device-libs*) ;; *) printf installed ;; esac'
stand_in apt-cache 'test "$2" = rocm-device-libs && echo "  Candidate: (none)" || echo "  Candidate: 1.0"'
run_setup build test || fail "$case: exit code $?"
called '^sudo .*apt-get install .* rocm-device-libs-17$'
not_called sources.list

case="Debian 12: a package of this version alone"
reset
stand_in dpkg-query 'for last; do :; done; test "$last" = oclgrind || printf installed'
run_setup build test || fail "$case: exit code $?"
called '^sudo .*apt-get install .* oclgrind$'

case="Debian 13: a package of another version alone"
reset
on debian 13 trixie
stand_in dpkg-query 'for last; do :; done; test "$last" = oclgrind || printf installed'
run_setup build test || fail "$case: exit code $?"
printed 'nothing to do: all'
not_called '^apt'

case="Debian 13: the same package under either name"
reset
on debian 13 trixie
stand_in dpkg-query 'for last; do :; done; test "$last" = rocm-device-libs || printf installed'
run_setup build test || fail "$case: exit code $?"
printed 'nothing to do: all'

case="Debian 13: LLVM missing, no security source"
reset
on debian 13 trixie
stand_in dpkg-query 'for last; do :; done; test "$last" = llvm-22 || printf installed'
stand_in apt-cache "grep -q 'tee /etc' '$calls' && echo '  Candidate: 1.0' || echo '  Candidate: (none)'"
stand_in apt-get 'case $1 in indextargets) echo "trixie http://mirror.example/debian/" ;; esac'
run_setup build test || fail "$case: exit code $?"
printed 'deb http://mirror.example/debian-security trixie-security main'
called '^sudo .*tee /etc/apt/sources.list.d/kdl-trixie-security.list'

case="the archive lacks a package that is not LLVM's"
reset
stand_in dpkg-query 'for last; do :; done; case $last in zsh|patch) ;; *) printf installed ;; esac'
stand_in apt-cache 'test "$2" = zsh && echo "  Candidate: (none)" || echo "  Candidate: 1.0"'
run_setup build test || fail "$case: exit code $?"
printed "zsh is not in this machine's archive"
called '^sudo .*apt-get install .* patch$'

case="a package that would remove another"
reset
stand_in dpkg-query 'for last; do :; done; case $last in libomp-22-dev|patch|zsh) ;; *) printf installed ;; esac'
stand_in apt-get 'case "$*" in *" -s "*--no-remove*libomp-22-dev*) exit 100 ;; esac'
run_setup build test || fail "$case: exit code $?"
printed 'libomp-22-dev cannot be installed next to what this machine has'
called '^sudo .*apt-get install .*--no-remove .* patch zsh$'

case="what docs/mlir.md needs, without daemons"
reset
stand_in dpkg-query 'exit 1'
make -s -n -C "$source" setup-mlir >"$work/output"
printed '^scripts/setup.sh build mlir$'
run_setup build mlir || fail "$case: exit code $?"
called '^sudo .*apt-get install .* llvm-22 libmlir-22-dev mlir-22-tools$'
not_called '^sudo .*apt-get install .*\(slurm\|munge\|chromium\|rocm\|pocl\|libcmocka\)'

case="clusters are asked for by name"
reset
stand_in dpkg-query 'exit 1'
make -s -n -C "$source" setup setup-clusters >"$work/output"
printed '^scripts/setup.sh build test$'
printed '^scripts/setup.sh build test cluster$'
run_setup build test || fail "$case: exit code $?"
called '^sudo .*apt-get install .* mlir-22-tools'
not_called '^sudo .*apt-get install .*\(slurm\|munge\|chromium\)'
run_setup cluster || fail "$case: exit code $?"
called '^sudo .*apt-get install .* chromium slurmctld slurmd slurm-client$'

# Elsewhere: names and a command, nothing installed, and no refusal where there is a compiler.
stand_ins() {
  for name in cmake ninja cc; do stand_in "$name" ''; done
  stand_in dpkg-query ''
  stand_in rpm 'exit 1'
  stand_in pacman 'exit 1'
}
elsewhere() {
  case=$1
  reset
  stand_ins
  on "$2" "$3" '' "${4:-}"
  run_setup build test demo || fail "$case: exit code $?"
  printed "nothing is installed on $2"
  printed "going on with what is there"
  not_called '^sudo'
  not_called '^apt-get'
}
elsewhere Ubuntu ubuntu 24.04 debian
printed '^setup: to install it, as root: apt-get install build-essential .* clang-22 .*rocm-device-libs-17'
printed 'apt.llvm.org'
elsewhere "a descendant of Ubuntu" linuxmint 22 'ubuntu debian'
printed 'apt-get install build-essential .*rocm-device-libs-17'
elsewhere Fedora fedora 44
printed '^setup: to install it, as root: dnf install gcc gcc-c++ cmake ninja-build .*libcmocka-devel'
elsewhere Arch arch ''
printed '^setup: to install it, as root: pacman -S --needed base-devel cmake ninja .*cmocka'
elsewhere "a coming Debian" debian 14
printed 'apt-get install build-essential'
elsewhere "a system that is not known" plan9 4
printed "by Debian's names"
printed '^  libcmocka-dev  *unit tests'

case="Fedora, of which one package is missing"
reset
stand_ins
on fedora 44
stand_in rpm 'for last; do :; done; test "$last" != mlir-devel'
run_setup build test || fail "$case: exit code $?"
printed 'as root: dnf install mlir-devel$'

case="no compiler"
reset
stand_ins
rm "$work/bin/cc" "$work/bin/ninja"
on fedora 44
for tool in bash grep awk cat dirname sed env sort; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
if KDL_OS_RELEASE=$work/os-release PATH=$work/bin "$setup" build >"$work/output" 2>&1; then fail "$case: expected a failure"; fi
printed 'nothing can be built without: ninja a-C-compiler'

case="unknown group"
reset
if run_setup nonsense; then fail "$case: expected a failure"; fi
printed 'no such group'
echo "setup: all cases as expected"
