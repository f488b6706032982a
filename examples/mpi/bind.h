/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef EXAMPLE_MPI_BIND_H
#define EXAMPLE_MPI_BIND_H

#include <kdl/kdl.h>

/* Keeps this process to those of its processors that are on the NUMA node nearest to the device, as
 * its memory will then be. The node; -1 where the system does not tell it, or none of the
 * processors that the launcher has left is there: then nothing is bound. */
int bind_near(const kdl_device *device);

#endif
