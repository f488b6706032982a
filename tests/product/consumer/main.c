/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
int main(void) {
  return 0;
}
