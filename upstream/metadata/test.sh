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
