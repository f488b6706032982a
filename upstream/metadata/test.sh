# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Metadata of offload images in LLVM's libraries and tools.

unit=llvm/unittests/Object
object=llvm/lib/Object

build_0001() { gtest "$BUILD/OffloadingTest" "$SRC/$unit/OffloadingTest.cpp"; }
test_0001() { "$BUILD/OffloadingTest"; }

# By 24's target parsers, which 23 does not have.
only_0002() { [ "$BASE" = 24 ]; }
build_0002() { gtest "$BUILD/OffloadMetadataTest" "$SRC/$unit/OffloadMetadataTest.cpp" "$SRC/$object/OffloadMetadata.cpp"; }
test_0002() { "$BUILD/OffloadMetadataTest"; }

# Of llvm-objdump the file that the patch touches, with a program around it that opens files as llvm-objdump does.
build_0003() {
  local tool=$SRC/llvm/tools/llvm-objdump
  cxx -I"$tool" -I"$SRC/llvm/include" -isystem "$INCLUDE" "$upstream/$series/objdump.cpp" "$tool/OffloadDump.cpp" \
    -L"$LLVM/lib" -lLLVM-$BASE -o "$BUILD/bin/llvm-objdump"
}
test_0003() {
  local tests=$SRC/llvm/test/tools/llvm-objdump/Offloading
  lit "$tests/strings.test" "$tests/elf.test" "$tests/nested-offload-binary.test" "$tests/nested-offload-binary-fails.test"
}

# 24's command line has -h of its own, which the tool of 23's sources defines once more.
only_0004() { [ "$BASE" = 23 ]; }
build_0004() {
  cxx -I"$SRC/llvm/include" -isystem "$INCLUDE" "$SRC/llvm/tools/llvm-offload-binary/llvm-offload-binary.cpp" \
    -L"$LLVM/lib" -lLLVM-$BASE -o "$BUILD/bin/llvm-offload-binary"
}
test_0004() { lit "$SRC/llvm/test/tools/llvm-offload-binary" "$SRC/llvm/test/tools/llvm-objdump/Offloading/strings.test"; }
