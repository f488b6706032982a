/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake drivers share: devices from specs, faults on request, and a record of calls. */
#ifndef KDL_TESTS_FAKES_FAKE_H
#define KDL_TESTS_FAKES_FAKE_H

#include "lib/device/spec.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* Reads the variables anew for a backend, waits if told to, and records the call. Returns the error
 * that initialising shall fail with; 0 for none. */
int fake_init(kdl_backend backend, const char *function);

/* Records a call. */
void fake_call(const char *function);

/* Records a call and returns the error that KDL_FAKE_FAIL wants from it; 0 for none. */
int fake_enter(const char *function);

/* The same without recording it. */
int fake_fault(const char *function);

/* How many faults have been injected since KDL_FAKE_FAIL last changed. For tests that look inside.
 */
FAKE_EXPORT unsigned fake_faults(void);

/* The thread that loaded the library, and the one that first initialised it, by their numbers. */
extern FAKE_EXPORT int fake_loaded_by, fake_started_by;

/* The devices of the backend that was initialised last. */
size_t fake_device_count(void);

/* NULL beyond the last, and for one that is mute. */
const kdl_device_spec *fake_device(size_t index);

/* What the device's clock says at the next event, in ms: a quarter more than at the last one, or
 * where the setting is `clock=host`, what has passed since the first one. */
double fake_event_time(void);

/* The value of "BACKEND.name" among the settings, or NULL; valid until the next call. */
const char *fake_setting(const char *name);

/* The same as a number; 0 where it is not set. */
int fake_setting_number(const char *name);

#endif
