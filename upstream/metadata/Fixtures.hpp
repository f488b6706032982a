// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the test of patch 2 uses of liboffload's Fixtures.hpp, for a build with main's header, which 23.1.1's fixtures do not fit.
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <OffloadAPI.h>
#include <gtest/gtest.h>

#define ASSERT_SUCCESS(ACTUAL) ASSERT_EQ(static_cast<ol_result_t>(ACTUAL), nullptr)

struct OffloadTest : ::testing::Test {
  static void SetUpTestSuite() { ASSERT_SUCCESS(olInit(nullptr)); }
  static void TearDownTestSuite() { ASSERT_SUCCESS(olShutDown()); }
};
