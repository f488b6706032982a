/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where moments of a device's clock lie on the host's.
 *
 * The two clocks cannot be read at once. What is known are bounds: the device passes an event no
 * earlier than the host asked for it, and no later than the host saw that it was passed. Each bound
 * limits the difference of the clocks from one side; the tightest of each side are kept, and the
 * difference is taken to be in their middle. A thread that is interrupted between its calls makes
 * one bound wide, and not the others.
 *
 * The clocks drift apart, so that a bound is worth less the farther away it was learnt.
 */
#ifndef KDL_TRACE_CORRELATION_H
#define KDL_TRACE_CORRELATION_H

/* Times are ns: of the host CLOCK_MONOTONIC, of the device since a moment of its own, 0. */
typedef struct kdl_trace_correlation {
  double least, least_at; /* of host - device, and the device's time when that was learnt */
  double most, most_at;
} kdl_trace_correlation;

/* Nothing is known. */
kdl_trace_correlation kdl_trace_correlation_none(void);

/* The device came to `device` no earlier, or no later, than the host to `host`. */
void kdl_trace_correlation_not_before(kdl_trace_correlation *clocks, double device, double host);
void kdl_trace_correlation_not_after(kdl_trace_correlation *clocks, double device, double host);

/* The host's time at a moment of the device's. Where the bounds contradict each other, as with a
 * device whose clock is wrong, nothing comes before the host asked for it. */
double kdl_trace_correlation_host(const kdl_trace_correlation *clocks, double device);

/* Counts the device's time from `device` on. */
void kdl_trace_correlation_move(kdl_trace_correlation *clocks, double device);

#endif
