/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The services that libkdl offers to built-in backends and plug-ins. */
#ifndef KDL_LIB_BACKENDS_COMMON_SERVICES_H
#define KDL_LIB_BACKENDS_COMMON_SERVICES_H

#include <kdl/backend.h>

extern const kdl_backend_services kdl_core_services;

#endif
