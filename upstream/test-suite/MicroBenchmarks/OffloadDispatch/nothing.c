/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernel that is launched. It does nothing, so that what is measured is the
 * way to it. The host plugin of liboffload calls it with an array of pointers
 * to the arguments. */
void nothing(void **Arguments) { (void)Arguments; }
