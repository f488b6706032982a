# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# What an image needs, by 24's target parsers, which 23 does not have.
BASES=24

unit=llvm/unittests/Object
object=llvm/lib/Object

build_0001() {
  gtest "$BUILD/OffloadMetadataTest" "$SRC/$unit/OffloadMetadataTest.cpp" "$SRC/$object/OffloadMetadata.cpp"
  gtest "$BUILD/OffloadingTest" "$SRC/$unit/OffloadingTest.cpp"
  if [ -f /kdl/libkdl.a ]; then
    cxx -w -I/kdl -I"$SRC/llvm/include" -isystem "$INCLUDE" "$upstream/$series/verdicts.cpp" "$SRC/$object/OffloadMetadata.cpp" \
      /kdl/librfc_kdl_reference.a /kdl/libkdl.a -L"$LLVM/lib" -lLLVM-$BASE -lm -ldl -lpthread -o "$BUILD/verdicts"
  fi
}
test_0001() {
  "$BUILD/OffloadMetadataTest"
  "$BUILD/OffloadingTest"
  if [ -f /kdl/libkdl.a ]; then
    "$BUILD/verdicts" | tee "$BUILD/verdicts.md"
  fi
}
