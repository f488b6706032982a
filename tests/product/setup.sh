#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setup.sh SOURCE WORK: runs scripts/setup.sh among stand-ins for dpkg, apt and sudo that write
# down what they are asked for, so that nothing is installed and no root is needed.
# shellcheck disable=SC2016 # what stands in single quotes is for the stand-ins' shell
set -euo pipefail
source=$1 work=$2
setup=$source/scripts/setup.sh
calls=$work/calls

if ! grep -q '^VERSION_ID="\?12"\?$' /etc/os-release || ! grep -q '^ID=debian$' /etc/os-release; then
  echo "skipped: this is not Debian 12, and elsewhere setup installs nothing"
  exit 77
fi

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

reset() {
  rm -rf "$work"
  mkdir -p "$work/bin"
  : >"$calls"
  stand_in id 'echo 1000'
  stand_in sudo 'cat >/dev/null'
  stand_in apt-get ''
  stand_in apt-cache ''
}

run_setup() { PATH=$work/bin:$PATH "$setup" "$@" </dev/null >"$work/output" 2>&1; }
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
called '^sudo .*DEBIAN_FRONTEND=noninteractive apt-get install .*--no-install-recommends.* ninja-build$'
not_called sources.list

case="LLVM missing, no security source"
reset
stand_in dpkg-query 'for last; do :; done; test "$last" = llvm-22 || printf installed'
stand_in apt-cache 'echo "  Candidate: (none)"'
stand_in apt-get 'case $1 in indextargets) echo "bookworm http://mirror.example/debian/" ;; esac'
run_setup build test || fail "$case: exit code $?"
printed 'deb http://mirror.example/debian-security bookworm-security main'
called '^sudo .*tee /etc/apt/sources.list.d/kdl-bookworm-security.list'
called '^sudo .*apt-get update .*sourcelist=/etc/apt/sources.list.d/kdl-bookworm-security.list'
called '^sudo .*apt-get install .* llvm-22$'

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

case="unknown group"
reset
if run_setup nonsense; then fail "$case: expected a failure"; fi
printed 'no such group'
echo "setup: all cases as expected"
