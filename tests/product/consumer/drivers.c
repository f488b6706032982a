/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that looks for devices: linked statically it finds the host, and prints why no other.
 */
#include <kdl/kdl.h>

#include <stdio.h>

int main(void) {
  kdl_device *device;
  printf("%s\n", kdl_device_find("host", &device) == KDL_OK ? "host" : kdl_error_message());
  printf("%s\n", kdl_device_find("opencl:63", &device) == KDL_OK ? "opencl" : kdl_error_message());
  printf("at least one: %d\n", kdl_device_count() > 0);
  return 0;
}
