/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images as drivers look at them, and captures of streams: what more than one vendor has. */
#ifndef KDL_TESTS_FAKES_FAKE_CODE_H
#define KDL_TESTS_FAKES_FAKE_CODE_H

#include "fake_objects.h"

/* A driver is not told how long an image is: an ELF file tells by its headers. */
size_t fake_elf_size(const void *data);

/* Adds an object of the kind for every kernel that the image defines, with its parameters and what
 * it does. False where the image contradicts its format. */
bool fake_add_kernels(fake_object *code, fake_kind kind, kdl_image_kind image, const void *data,
                      size_t size);

/* The kernel of that name, or NULL. */
fake_object *fake_find_kernel(fake_kind kind, const fake_object *code, const char *name);

/* What a compiler of OpenCL's flavour of SPIR-V, up to that version (0: any), says against the
 * module; nothing where it takes it. The functions of the code learn the block that they require.
 */
void fake_spirv_check(fake_object *code, const void *data, size_t size, uint32_t newest,
                      char *out_words, size_t words_size);

/* As fake_variable, of code whose text is SPIR-V. */
fake_object *fake_spirv_variable(fake_object *code, fake_object *context, const char *name);

/* ------------------------------------------------------------------------------------------ */
/* Captures                                                                                     */

enum { capture_none, capture_active, capture_broken };
enum { mode_global, mode_thread_local, mode_relaxed };

/* Sets how the thread sees the captures of others, and returns how it did. */
int fake_capture_mode(int mode);

/* For calls that a capture in global mode forbids: breaks every capture, unless the thread is
 * relaxed. True where it broke one. */
bool fake_capture_break(void);

/* Begins a capture; ends it, with a graph, or NULL where it was broken. */
void fake_capture_begin(fake_object *stream);
fake_object *fake_capture_end(fake_object *stream);

#endif
