/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A libcupti.so whose callbacks a test sends: fake_cupti_send. FAKE_CUPTI_BUSY=1 has a subscriber
 * already. */
#include "ext/inject/cupti_abi.h"

#include <stdbool.h>
#include <stdlib.h>

enum { domain_count = 8, id_count = 1024 };

static cupti_callback *subscribed;
static void *subscribed_user;
static bool is_enabled[domain_count][id_count];

int cuptiSubscribe(void **out_subscriber, cupti_callback *callback, void *user);
int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id);
int cuptiGetDeviceId(void *context, uint32_t *out_device);
void fake_cupti_send(int domain, uint32_t id, const void *data);

int cuptiSubscribe(void **out_subscriber, cupti_callback *callback, void *user) {
  if (getenv("FAKE_CUPTI_BUSY"))
    return CUPTI_OTHER_SUBSCRIBER;
  subscribed = callback;
  subscribed_user = user;
  *out_subscriber = &subscribed;
  return CUPTI_OK;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id) {
  if (subscriber != &subscribed || domain < 0 || domain >= domain_count || id >= id_count)
    return 1;
  is_enabled[domain][id] = enable;
  return CUPTI_OK;
}

int cuptiGetDeviceId(void *context, uint32_t *out_device) {
  *out_device = 0;
  return context ? CUPTI_OK : 1;
}

void fake_cupti_send(int domain, uint32_t id, const void *data) {
  if (subscribed && is_enabled[domain][id])
    subscribed(subscribed_user, domain, id, data);
}
