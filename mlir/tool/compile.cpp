// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-mlir compile: from linalg on tensors to a shared object.
#include "compile.h"

#include "Passes.h"
#include "Toolchain.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/SourceMgr.h"

#include <kdl/kdl.h>

#include <chrono>
#include <sys/resource.h>

using namespace mlir;
using namespace mlir::kdl;
namespace fs = llvm::sys::fs;

/// Prints text that may be from elsewhere: without control characters, which terminals obey.
static void print(const Twine &text) {
  std::string shown;
  llvm::raw_string_ostream out(shown);
  for (char letter : text.str()) {
    if (letter == '\n' || !(static_cast<unsigned char>(letter) < ' ' || letter == 0x7f))
      out << letter;
    else
      out << "\\x" << llvm::format_hex_no_prefix(static_cast<unsigned char>(letter), 2);
  }
  llvm::errs() << shown;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

kdl::Steps::Steps(bool isVerbose)
    : isVerbose(isVerbose),
      isOnTerminal(!isVerbose && llvm::sys::Process::StandardErrIsDisplayed()) {}

kdl::Steps::~Steps() {
  end();
}

kdl::Steps::Time kdl::Steps::now() {
  double cpu = 0;
  for (auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) { // the linker is a child
    rusage used{};
    getrusage(who, &used);
    for (timeval time : {used.ru_utime, used.ru_stime})
      cpu += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(), cpu};
}

void kdl::Steps::begin(StringRef what) {
  end();
  current = what.str();
  begun = now();
  if (!isOnTerminal)
    return;
  llvm::errs() << "\r\033[K";
  print("kdl-mlir: " + current + "...");
}

void kdl::Steps::end() {
  if (current.empty())
    return;
  if (isOnTerminal)
    llvm::errs() << "\r\033[K";
  Time ended = now();
  if (isVerbose)
    print("kdl-mlir: " + current +
          llvm::formatv(": {0:f3} s, {1:f3} s of CPU\n", ended.wall - begun.wall,
                        ended.cpu - begun.cpu));
  current.clear();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {

/// A file next to the one that it replaces when it is complete.
class Replacement {
public:
  ~Replacement() {
    if (!path.empty())
      remove();
  }

  /// Prints why there is none.
  LogicalResult open(StringRef given) {
    target = given.str();
    fs::file_status status;
    if (!fs::status(target, status) && status.type() != fs::file_type::regular_file)
      return complain("found something that is no regular file");
    int file = -1;
    // As a compiler's output has them, without what the process masks.
    std::error_code error =
        fs::createUniqueFile(target + ".%%%%%%%%", file, path, fs::OF_None, fs::all_all);
    if (error) {
      path.clear();
    } else {
      llvm::sys::RemoveFileOnSignal(path);
      error = llvm::sys::Process::SafelyCloseFileDescriptor(file);
    }
    return error ? complain("cannot write: " + error.message()) : success();
  }

  LogicalResult write(StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream out(path, error);
    if (!error) {
      out << text;
      out.close();
      error = out.error();
      out.clear_error();
    }
    if (!error)
      error = fs::setPermissions(path, static_cast<fs::perms>(fs::all_read | fs::all_write) &
                                           static_cast<fs::perms>(~fs::getUmask()));
    return error ? complain("cannot write: " + error.message()) : success();
  }

  LogicalResult finish() {
    std::error_code error = fs::rename(path, target);
    if (error)
      return complain("cannot write: " + error.message());
    llvm::sys::DontRemoveFileOnSignal(path);
    path.clear();
    return success();
  }

  SmallString<128> path;

private:
  void remove() {
    fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }

  LogicalResult complain(const Twine &why) {
    print("kdl-mlir compile: " + target + ": " + why + "\n");
    return failure();
  }

  std::string target;
};

/// The options of the command. LLVM's own libraries have some of the same names.
struct Options {
  llvm::cl::SubCommand command{"compile", "linalg on tensors to a shared object"};
  llvm::cl::OptionCategory category{"Options of kdl-mlir compile"};
  template <typename T> using Opt = llvm::cl::opt<T>;
  Opt<std::string> input{llvm::cl::Positional, llvm::cl::desc("MODEL.mlir"), llvm::cl::init("-"),
                         llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<std::string> output{
      "o", llvm::cl::desc("the shared object; default: the input's name with .so"),
      llvm::cl::value_desc("file"), llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<std::string> header{
      "header", llvm::cl::desc("the C header; default: the output's name with .h"),
      llvm::cl::value_desc("file"), llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<std::string> report{"report",
                          llvm::cl::desc("where to write what became of each operation; default: "
                                         "standard error"),
                          llvm::cl::value_desc("file"), llvm::cl::cat(category),
                          llvm::cl::sub(command)};
  Opt<std::string> target{"target",
                          llvm::cl::desc("the CPU: native, host:x86-64-v3, host:znver4, ..."),
                          llvm::cl::init("native"),
                          llvm::cl::value_desc("cpu"),
                          llvm::cl::cat(category),
                          llvm::cl::sub(command)};
  Opt<std::string> library{"library", llvm::cl::desc("a library of microkernels"),
                           llvm::cl::value_desc("file"), llvm::cl::cat(category),
                           llvm::cl::sub(command)};
  Opt<bool> threads{"threads",
                    llvm::cl::desc("large operations run on the threads of libkdl's host device; "
                                   "the shared object needs libkdl_mlir_runtime"),
                    llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<bool> approximateMath{"approximate-math",
                            llvm::cl::desc("exp, tanh and erf of f32 are polynomials"),
                            llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<bool> noSilentFallback{"no-silent-fallback",
                             llvm::cl::desc("a product without a microkernel is an error"),
                             llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<bool> leavePlain{"leave-plain",
                       llvm::cl::desc("products that tiles would not make faster are the matmul "
                                      "library's; default: true"),
                       llvm::cl::init(true), llvm::cl::cat(category), llvm::cl::sub(command)};
  Opt<bool> verbose{"verbose", llvm::cl::desc("print the time of each step"),
                    llvm::cl::cat(category), llvm::cl::sub(command)};

  std::string withExtension(StringRef file, StringRef extension) const {
    SmallString<128> path(file);
    llvm::sys::path::replace_extension(path, extension);
    return path.str().str();
  }

  LowerLinalgPipelineOptions *fill(LowerLinalgPipelineOptions &pipeline) const {
    pipeline.target = cpu();
    pipeline.library = library.getValue();
    pipeline.threads = threads.getValue();
    pipeline.approximateMath = approximateMath.getValue();
    pipeline.noSilentFallback = noSilentFallback.getValue();
    pipeline.leavePlain = leavePlain.getValue();
    pipeline.ownResults = true;
    return &pipeline;
  }

  std::string cpu() const { return target == "native" ? "host" : target.getValue(); }
};

LogicalResult lower(ModuleOp module, const Options &options, Report &report) {
  LowerLinalgPipelineOptions pipeline;
  PassManager passes(module.getContext());
  buildLowerLinalgPipeline(passes, *options.fill(pipeline));
  report.watch(passes);
  return passes.run(module);
}

LogicalResult fail(const Twine &why) {
  print("kdl-mlir compile: " + why + "\n");
  return failure();
}

/// No output replaces the input or another output.
LogicalResult checkNames(ArrayRef<StringRef> files) {
  for (auto [i, file] : llvm::enumerate(files)) {
    for (StringRef other : files.take_front(i)) {
      if (!file.empty() && (file == other || fs::equivalent(file, other)))
        return fail(file + ": found it for two files, expected another name for one of them");
    }
  }
  return success();
}

struct FreeTarget {
  void operator()(cpu_target *target) const { cpu_target_free(target); }
};
using Target = std::unique_ptr<cpu_target, FreeTarget>;

/// Null after an error, which is printed.
Target findTarget(const Options &options) {
  kdl_device *device = nullptr;
  kdl_device_info info{};
  info.size = sizeof info;
  std::string cpu = options.cpu();
  auto complain = [&](StringRef why) {
    (void)fail("found --target=" + options.target + ": " + why);
    return nullptr;
  };
  if (kdl_device_find(cpu.c_str(), &device) != KDL_OK || kdl_device_get(device, &info) != KDL_OK)
    return complain(kdl_error_message());
  if (!info.is_host)
    return complain("expected a CPU, as native, host:x86-64-v4 or host:znver4");
  Target target(cpu_target_create(kdl_device_spec_text(device)));
  if (!target)
    return complain(kdl_error_message());
  return target;
}

LogicalResult compile(const Options &options, void (*registerDialects)(DialectRegistry &)) {
  std::string output = options.output;
  if (output.empty() && options.input == "-")
    return fail("found no -o, expected the name of the shared object");
  if (output.empty())
    output = options.withExtension(options.input, "so");
  Steps steps(options.verbose);
  steps.begin("reading");
  Target target = findTarget(options);
  if (!target)
    return failure();
  std::string linker = findLinker(""), message;
  if (linker.empty())
    return fail(describeMissingLinker(""));
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(options.input, &message);
  if (!input)
    return fail(message);
  std::string headerPath =
      options.header.empty() ? options.withExtension(output, "h") : options.header.getValue();
  if (failed(checkNames({options.input.getValue(), output, headerPath, options.report.getValue()})))
    return failure();
  Replacement shared, header, report;
  if (failed(shared.open(output)) || failed(header.open(headerPath)) ||
      (!options.report.empty() && failed(report.open(options.report))))
    return failure();

  DialectRegistry registry;
  registerDialects(registry);
  registerAllPasses();
  kdl::registerPasses();
  MLIRContext context(registry);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return failure();
  FailureOr<Model> model = readModel(*module);
  if (failed(model))
    return failure();
  model->target = cpu_target_arch(target.get());
  Report operations(*module);
  steps.begin("lowering");
  if (failed(lower(*module, options, operations)) ||
      failed(buildShared(*module, *model, target.get(), linker, llvm::sys::path::filename(output),
                         shared.path, steps)))
    return failure();
  steps.end();
  if (failed(header.write(writeHeader(*model, llvm::sys::path::filename(output)))) ||
      (!options.report.empty() && failed(report.write(operations.text()))) ||
      failed(header.finish()) || (!options.report.empty() && failed(report.finish())) ||
      failed(shared.finish()))
    return failure();
  if (options.report.empty())
    print(operations.text());
  return success();
}

} // namespace

int kdl::runCompile(int argc, char **argv, void (*registerDialects)(DialectRegistry &)) {
  Options options;
  llvm::cl::HideUnrelatedOptions(options.category, options.command);
  SmallVector<const char *> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, "compile");
  llvm::cl::ParseCommandLineOptions(
      static_cast<int>(arguments.size()), arguments.data(),
      "kdl-mlir compile: from linalg on tensors to a shared object that C and Python call\n");
  return failed(compile(options, registerDialects)) ? 1 : 0;
}
