#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# loader_layer.sh LAYER VERSION ERRS OPEN_LISTS WORK COMMAND...: runs COMMAND, the conformance suite, on a driver behind
# Level Zero's loader of version VERSION with one of its validation layers, and wants no word of it. Before that, ERRS
# makes a mistake with the layer and without: it must be found with the layer alone. A layer that the loader has not, or that
# checks nothing in its version, is reported as skipped. OPEN_LISTS is ze_open_lists.c, or none.
set -euo pipefail
layer=$1 version=$2 errs=$3 open_lists=$4 work=$5
shift 5

prefix=ZE since=1.0
case $layer in
  HANDLE_LIFETIME) since=1.9.9 ;; # before, the variable was read and no more
  EVENTS_CHECKER) prefix=ZEL since=1.19.2 ;;
  BASIC_LEAK_CHECKER) prefix=ZEL since=1.20.6 ;;
  THREADING_VALIDATION)
    echo "skipped: loaders up to 1.32 read ZE_ENABLE_THREADING_VALIDATION and check nothing"
    exit 77
    ;;
esac
variable=${prefix}_ENABLE_$layer
is_older() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ] && [ "$1" != "$2" ]; }

rm -rf "$work"
mkdir -p "$work"
export ZE_ENABLE_VALIDATION_LAYER=1

# What is told of a mistake: which calls reach the driver, and the layer's words.
told() {
  local name=$1
  shift
  KDL_FAKE_LOG=$work/$name.calls "$@" >"$work/$name.out" 2>"$work/$name.err" || {
    cat "$work/$name.out" "$work/$name.err"
    echo "FAIL: $* ended with status $?"
    exit 1
  }
  cat "$work/$name.calls"
  sed 's/0x[0-9a-f]*/0x/g' "$work/$name.err"
}
told without "$errs" "$layer" >"$work/without"
told with env "$variable=1" "$errs" "$layer" >"$work/with"
if cmp -s "$work/without" "$work/with"; then
  if is_older "$version" "$since"; then
    echo "skipped: loader $version finds nothing by $variable: a mistake made on purpose goes through"
    exit 77
  fi
  echo "FAIL: loader $version does not find the mistake that $variable is for"
  exit 1
fi
echo "$variable of loader $version finds the mistake:"
diff "$work/without" "$work/with" || true

if [ "$layer" = HANDLE_LIFETIME ]; then
  if [ "$open_lists" = none ]; then
    echo "skipped: nothing can be loaded before a sanitized program, and loader $version takes immediate lists for closed"
    exit 77
  fi
  export LD_PRELOAD=$open_lists
fi
env "$variable=1" "$@" 2>"$work/said" || {
  status=$?
  cat "$work/said"
  exit "$status"
}
# The leak checker prints its table in any case.
if [ "$layer" = BASIC_LEAK_CHECKER ]; then
  grep 'zeContextCreate = [1-9]' "$work/said" || {
    echo "FAIL: the layer counted no context"
    exit 1
  }
  sed -i -n '/LEAK/p' "$work/said"
fi
if [ -s "$work/said" ]; then
  cat "$work/said"
  echo "FAIL: the layer has something to say"
  exit 1
fi
