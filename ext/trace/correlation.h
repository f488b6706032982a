/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Maps a device's clock to the host's.
 *
 * The two clocks cannot be read at the same time. Only bounds are known: the device passes an event
 * no earlier than the host submitted it, and no later than the host saw it passed. Each bound
 * limits the clock difference from one side. The tightest bound of each side is kept, and the
 * difference is assumed to be in the middle. A thread that is interrupted between its calls loosens
 * one bound only.
 *
 * The clocks drift apart, so that a bound becomes weaker with the time since it was observed.
 */
#ifndef KDL_EXT_TRACE_CORRELATION_H
#define KDL_EXT_TRACE_CORRELATION_H

/* Times are in ns: CLOCK_MONOTONIC for the host; for the device from an origin of its own, 0. */
typedef struct kdl_trace_correlation {
  double least, least_at; /* bound of host - device, and the device time of its observation */
  double most, most_at;
} kdl_trace_correlation;

/* Without any bound. */
kdl_trace_correlation kdl_trace_correlation_none(void);

/* The device reached `device` no earlier, or no later, than the host reached `host`. */
void kdl_trace_correlation_not_before(kdl_trace_correlation *clocks, double device, double host);
void kdl_trace_correlation_not_after(kdl_trace_correlation *clocks, double device, double host);

/* The host's time for a time of the device. Where the bounds contradict each other, as with a
 * device whose clock is wrong, nothing comes before the host submitted it. */
double kdl_trace_correlation_host(const kdl_trace_correlation *clocks, double device);

/* Moves the origin of the device's time to `device`. */
void kdl_trace_correlation_move(kdl_trace_correlation *clocks, double device);

#endif
