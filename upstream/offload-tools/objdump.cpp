// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `llvm-objdump --offloading FILE` around llvm/tools/llvm-objdump/OffloadDump.cpp: what llvm-objdump.cpp does for that option.
#include "OffloadDump.h"
#include "llvm-objdump.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Object/OffloadBinary.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace llvm::object;

void objdump::reportWarning(const Twine &Message, StringRef File) {
  outs().flush();
  WithColor::warning(errs(), "llvm-objdump") << "'" << File << "': " << Message << "\n";
}

void objdump::reportError(StringRef File, const Twine &Message) {
  outs().flush();
  WithColor::error(errs(), "llvm-objdump") << "'" << File << "': " << Message << "\n";
  exit(1);
}

int main(int Count, char **Arguments) {
  for (StringRef File : ArrayRef(Arguments + 1, Count - 1)) {
    if (File == "--offloading")
      continue;
    Expected<OwningBinary<Binary>> BinaryOrErr = createBinary(File);
    if (!BinaryOrErr)
      objdump::reportError(File, toString(BinaryOrErr.takeError()));
    if (auto *Object = dyn_cast<ObjectFile>(BinaryOrErr->getBinary())) {
      outs() << "\n" << File << ":\tfile format " << Object->getFileFormatName().lower() << "\n";
      dumpOffloadBinary(*Object, "");
    } else if (auto *Images = dyn_cast<OffloadBinary>(BinaryOrErr->getBinary())) {
      dumpOffloadSections(*Images);
    }
  }
}
