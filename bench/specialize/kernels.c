/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels whose scalar arguments decide loops, branches and index arithmetic, and repeat from
 * launch to launch: after the cases that Proteus and AdaptiveCpp publish (a docking energy as
 * miniBUDE's, an optimiser step as Adam's, an equation of state as LULESH's, and three of the kinds
 * in HeCBench). Written for this benchmark: each has the loops and the scalars of its model, not
 * its code.
 */
#include <kdl/kernel.h>
#include <kdl/math.h>

static uint32_t item(void) {
  return __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
}

/* ------------------------------------------------------------------------------------------ */
/* Docking: the energy of each pose of a small molecule against a large one                     */

/* A pose is three angles and three shifts; an atom is a position and a charge. */
__gpu_kernel void energy(const __gpu_global float *poses, const __gpu_global float *ligand,
                         const __gpu_global float *protein, __gpu_global float *out,
                         uint32_t pose_count, uint32_t ligand_atoms, uint32_t protein_atoms,
                         float cutoff, float hardness, int32_t has_charges) {
  uint32_t pose = item();
  if (pose >= pose_count)
    return;
  float turn = poses[pose * 4], shift_x = poses[pose * 4 + 1], shift_y = poses[pose * 4 + 2],
        shift_z = poses[pose * 4 + 3];
  float cosine = 1 - turn * turn * 0.5f, sine = turn - turn * turn * turn * (1.0f / 6);
  float total = 0;
  for (uint32_t p = 0; p < protein_atoms; ++p) {
    float px = protein[p * 4], py = protein[p * 4 + 1], pz = protein[p * 4 + 2],
          charge = protein[p * 4 + 3];
    for (uint32_t l = 0; l < ligand_atoms; ++l) {
      float lx = ligand[l * 4], ly = ligand[l * 4 + 1];
      float x = cosine * lx - sine * ly + shift_x - px;
      float y = sine * lx + cosine * ly + shift_y - py;
      float z = ligand[l * 4 + 2] + shift_z - pz;
      float distance = kdl_sqrt(x * x + y * y + z * z);
      float overlap = cutoff - distance;
      if (overlap > 0)
        total += overlap * hardness;
      if (has_charges)
        total += charge * ligand[l * 4 + 3] / (distance + 1.0f);
    }
  }
  out[pose] = total;
}

/* ------------------------------------------------------------------------------------------ */
/* An optimiser: several steps of moments with corrections for their bias                       */

/* The moments are one after the other, and so are the new values. */
__gpu_kernel void adam(const __gpu_global float *weights, const __gpu_global float *moments,
                       const __gpu_global float *gradients, __gpu_global float *out, uint32_t n,
                       float rate, float beta1, float beta2, float epsilon, float scale,
                       int32_t steps, int32_t mode) {
  uint32_t i = item();
  if (i >= n)
    return;
  float weight = weights[i], m = moments[i], v = moments[n + i];
  float power1 = 1, power2 = 1;
  for (int32_t step = 0; step < steps; ++step) {
    float gradient = gradients[i] / scale;
    power1 *= beta1;
    power2 *= beta2;
    m = beta1 * m + (1 - beta1) * gradient;
    v = beta2 * v + (1 - beta2) * gradient * gradient;
    float corrected1 = m / (1 - power1);
    float corrected2 = v / (1 - power2);
    float root = mode == 0 ? kdl_sqrt(corrected2 + epsilon) : kdl_sqrt(corrected2) + epsilon;
    weight -= rate * (corrected1 / root);
  }
  out[i] = weight;
  out[n + i] = m;
  out[2 * n + i] = v;
}

/* ------------------------------------------------------------------------------------------ */
/* Hydrodynamics: the equation of state of each element, in half steps                          */

__gpu_kernel void state(const __gpu_global double *energies, const __gpu_global double *volumes,
                        const __gpu_global double *pressures, __gpu_global double *out, uint32_t n,
                        double least_energy, double least_pressure, double energy_cut,
                        double pressure_cut, double least_volume, double most_volume,
                        double density, int32_t repetitions) {
  uint32_t i = item();
  if (i >= n)
    return;
  double e = energies[i], p = pressures[i], volume = volumes[i];
  if (least_volume != 0 && volume < least_volume)
    volume = least_volume;
  if (most_volume != 0 && volume > most_volume)
    volume = most_volume;
  double compression = 1 / volume - 1;
  for (int32_t r = 0; r < repetitions; ++r) {
    double third = (2.0 / 3.0) * (compression + 1);
    double half = e + 0.5 * (p * (1 / density));
    if (half < least_energy)
      half = least_energy;
    double trial = third * half;
    if (trial < pressure_cut && trial > -pressure_cut)
      trial = 0;
    if (trial < least_pressure)
      trial = least_pressure;
    double work = (third * e + volume * volume * trial) / density;
    double viscosity = work <= 1e-36 ? 3.3333333e-18 : kdl_sqrt(work);
    e = half - (7.0 * p - 8.0 * trial + viscosity) / 6 * (1 / density);
    if (e < energy_cut && e > -energy_cut)
      e = 0;
    if (e < least_energy)
      e = least_energy;
    p = third * e;
  }
  out[i] = p;
  out[n + i] = e;
}

/* ------------------------------------------------------------------------------------------ */
/* A convolution with a window of any size                                                      */

__gpu_kernel void convolve(const __gpu_global float *in, const __gpu_global float *weights,
                           __gpu_global float *out, uint32_t width, uint32_t height,
                           uint32_t across, uint32_t down, float scale) {
  uint32_t i = item(), x = i % width, y = i / width;
  if (y >= height)
    return;
  float sum = 0;
  for (uint32_t v = 0; v < down; ++v) {
    for (uint32_t u = 0; u < across; ++u)
      sum += weights[v * across + u] * in[(y + v) * (width + across) + x + u];
  }
  out[i] = sum * scale;
}

/* ------------------------------------------------------------------------------------------ */
/* The dimensions of an array of rank four in another order                                     */

__gpu_kernel void permute(const __gpu_global float *in, __gpu_global float *out, uint32_t a,
                          uint32_t b, uint32_t c, uint32_t d) {
  uint32_t i = item();
  if (i >= a * b * c * d)
    return;
  uint32_t w = i % d, rest = i / d;
  uint32_t z = rest % c;
  rest /= c;
  uint32_t y = rest % b, x = rest / b;
  out[((w * c + z) * b + y) * a + x] = in[i];
}

/* ------------------------------------------------------------------------------------------ */
/* Polynomials of a degree that the launch decides, in each point                               */

__gpu_kernel void series(const __gpu_global float *points, const __gpu_global float *factors,
                         __gpu_global float *out, uint32_t n, uint32_t degree, uint32_t terms) {
  uint32_t i = item();
  if (i >= n)
    return;
  float x = points[i], total = 0;
  for (uint32_t t = 0; t < terms; ++t) {
    float value = factors[t * (degree + 1) + degree];
    for (uint32_t k = degree; k > 0; --k)
      value = value * x + factors[t * (degree + 1) + k - 1];
    total += value;
  }
  out[i] = total;
}
