/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that is linked against HIP, as far as the fake HIP has it: hip_program CODE_OBJECT. */
#include <stdio.h>
#include <stdlib.h>

int hipModuleLoadData(void **module, const void *image);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **extra);
int hipInit(unsigned flags);

int main(int count, char **words) {
  enum { most = 1 << 16 };
  char *image = malloc(most);
  void *module, *function;
  FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
  if (!file || !image || fread(image, 1, most, file) == 0 || hipInit(0) != 0)
    return 2;
  fclose(file);
  int error = hipModuleLoadData(&module, image);
  free(image);
  if (!error)
    error = hipModuleGetFunction(&function, module, "empty");
  for (int i = 0; i < 5 && !error; ++i)
    error = hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
  return error ? 1 : 0;
}
