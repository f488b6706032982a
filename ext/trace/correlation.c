/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/correlation.h"

#include <math.h>

/* Two oscillators, each off by up to 50 parts in a million. */
static const double drift = 100e-6;

kdl_trace_correlation kdl_trace_correlation_none(void) {
  return (kdl_trace_correlation){-INFINITY, 0, INFINITY, 0};
}

static double distance(double a, double b) {
  return a < b ? b - a : a - b;
}

static double least_at(const kdl_trace_correlation *clocks, double device) {
  return clocks->least - drift * distance(device, clocks->least_at);
}

static double most_at(const kdl_trace_correlation *clocks, double device) {
  return clocks->most + drift * distance(device, clocks->most_at);
}

void kdl_trace_correlation_not_before(kdl_trace_correlation *clocks, double device, double host) {
  if (host - device < least_at(clocks, device))
    return;
  clocks->least = host - device;
  clocks->least_at = device;
}

void kdl_trace_correlation_not_after(kdl_trace_correlation *clocks, double device, double host) {
  if (host - device > most_at(clocks, device))
    return;
  clocks->most = host - device;
  clocks->most_at = device;
}

double kdl_trace_correlation_host(const kdl_trace_correlation *clocks, double device) {
  double least = least_at(clocks, device), most = most_at(clocks, device);
  if (most == INFINITY || most < least)
    return device + least;
  return device + (least == -INFINITY ? most : (least + most) / 2);
}

void kdl_trace_correlation_move(kdl_trace_correlation *clocks, double device) {
  clocks->least += device;
  clocks->least_at -= device;
  clocks->most += device;
  clocks->most_at -= device;
}
