/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What libkdl does for backends, built in or not. */
#ifndef KDL_BACKENDS_COMMON_SERVICES_H
#define KDL_BACKENDS_COMMON_SERVICES_H

#include <kdl/backend.h>

extern const kdl_backend_services kdl_core_services;

#endif
