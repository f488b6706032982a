#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds who prints text from files as it is: it could control the terminal. cli_text_printf, cli_text_print and tables
(tools/common/text.h) escape it, as do cli_error, cli_warning and cli_note; in C++, write_escaped.

Text from files is each %s and %c, each text of fputs, puts and fwrite, and each character of fputc, to standard output or error, but for literals
and the command's own words, which are listed here. A FILE * is one of the two where it is set to one, and a parameter or a member of a struct where
any call passes or any code stores one: all are found by their names. In C++, it is what << writes to llvm::outs() or llvm::errs(). In Python, it is what
a __str__ or a __repr__ does not pass to printable().
"""
import pathlib
import re
import sys

FOLDERS = ["tools", "pack", "ext", "bench/tool", "cc", "compiler", "ld", "lib", "support", "mlir"]
SKIPPED = ("mlir/bench/", "mlir/test/")
PRINTF = re.compile(r"(?<![A-Za-z_])(printf|fputs|puts|fwrite|fputc|putc|putchar|fprintf|dprintf)\(")
CALL = re.compile(r"(?<![A-Za-z_0-9])([a-z_]\w*)\(")
FUNCTION = re.compile(r"^[A-Za-z_][^\n;{}]*?\b(\w+)\(([^;{}]*?)\)\s*\{\n(.*?)^\}", re.M | re.S)
STREAM = re.compile(r"\bstd(?:out|err)\b")
LITERAL = re.compile(r"""^(?:(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+')\s*)+$""")
STRING = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+')""")

# The command's own words: the arguments of a file.
OWN = {
    "bench/tool/bench_text.c": {"step", "timer", "title_of(mode)"},
    "cc/messages.c": {"cli_report_name()", "join", "left.data"},  # Clang's messages, made printable, with its colours
    "ext/inject/recording.c": {"strerror(problem)"},
    "ext/jit/commands/cache_stat.c": {"mode_names[settings->mode]"},
    "ext/trace/trace.c": {"kdl_error_message()", "name"},  # the path of the user's KDL_TRACE
    "lib/device/spec_json.c": {"*joined", "keys[i].name", "kdl_backend_name(spec->backend)", "quote"},  # tokens, which were parsed
    "lib/registry/discover_json.c": {"kdl_backend_name(report->backend)", "kdl_driver_state_names[report->state]", "kdl_version()", "texts[i].key"},
    "lib/trust/settings.c": {"found", "path", "safe_owner_text"},  # the path is made printable
    "lib/trust/trust.c": {"line"},  # made printable
    "mlir/runtime/error.c": {"message"},  # names in the program that runs, and messages of libkdl, which are printable
    "mlir/tool/compile.cpp": {"shown"},  # made printable
    "mlir/tool/kdl-mlir.cpp": {"usage"},
    "support/json/writer.c": {"escaped"},
    "support/system/environment.c": {"line", "topic_names[topic]"},  # made printable
    "ld/confine/confine.c": {"key", "strerror(problem)"},
    "ld/main.c": {"build", "kdl_version()", "llvm", "reason"},  # LLVM's words, which libkdl reads
    "pack/check/check_text.c": {"before", "one", "rows[i].of_one", "rows[i].of_several", "several"},
    "pack/diff/diff_markdown.c": {"diff_change_name((diff_change)change)", "diff_change_name(change)", "shown"},  # made printable
    "pack/diff/diff_text.c": {"diff_change_name((diff_change)change)", "diff_change_name(change)", "separator"},
    "pack/thin/print.c": {"format_size(report->zeroed_bytes, more)", "line", "zeros"},
    "tools/common/json.c": {"bracket"},
    "tools/common/options.c": {"left"},
    "tools/common/output.c": {"data"},  # -o -, the bytes of a file
    "tools/common/progress.c": {"text"},  # numbers
    "tools/common/report.c": {"colour", "level", "name"},
    "tools/common/run_times.c": {"what"},
    "tools/kdl/commands/cmd_devices.c": {"gap", "missing"},
    "tools/kdl/commands/llvm_offload_binary.c": {"kdl_version()"},
    "tools/kdl/commands/run_sanitize.c": {"cli_report_name()"},
    "tools/kdl/explain/cmd_which.c": {"cli_image_kind_name(&image, room)"},
    "tools/kdl/explain/explain_dot.c": {"(unsigned char)name.data[i]"},  # made printable
    "tools/kdl/explain/explain_sequence.c": {"cli_slot_name(saved, operand->slot, name)", "marks[step->kind]"},
    "tools/kdl/explain/explain_text.c": {"before", "cli_count(ranking->count - count, room)", "label"},
    "tools/kdl/main.c": {"command->name", "heading", "kdl_codec_name(codec)", "kdl_error_message()", "kdl_version()"},
    "tools/kdl/sign/cmd_sign.c": {"message.data"},  # the bytes that a program is to sign
    "tools/kdl/trace/trace_html.c": {"text.data + at"},  # a page, with control characters as &#N;
    "tools/kdl/trace/trace_text.c": {"lines[i].title"},
    "tools/kdl/verify/cmd_verify.c": {"levels[level].colour", "levels[level].name"},
}
# Methods of Python that print numbers and libkdl's own names.
OWN_METHODS = {("python/kdl/_matmul.py", "__repr__")}
PRINTER = "tools/common/text.c"
GENERATOR = "tools/kdl/describe/"  # writes pages and completions from the table of commands


def plain(text):
    """The text with blanks for strings."""
    return STRING.sub(lambda match: " " * len(match[0]), text)


def arguments(text, start):
    """The arguments of the call whose parenthesis ends before `start`."""
    depth, at, args = 1, start, []
    while depth:
        string = STRING.match(text, at)
        if string:
            at = string.end()
            continue
        depth += text[at] in "([{"
        depth -= text[at] in ")]}"
        if not depth or (depth == 1 and text[at] == ","):
            args.append(text[start:at].strip())
            start = at + 1
        at += 1
    return args


def parts(expression):
    """The values that an expression may have: the branches of a conditional one."""
    depth, at, question, nested = 0, 0, None, 0
    while at < len(expression):
        string = STRING.match(expression, at)
        if string:
            at = string.end()
            continue
        letter = expression[at]
        depth += (letter in "([{") - (letter in ")]}")
        if not depth and letter == "?":
            question, nested = (at, nested) if question is None else (question, nested + 1)
        elif not depth and letter == ":" and question is not None:
            if not nested:
                return parts(expression[question + 1 : at].strip()) + parts(expression[at + 1 :].strip())
            nested -= 1
        at += 1
    return [re.sub(r"\s+", " ", expression)]


class Streams:
    """Which FILE * are standard output or error: parameters by function and place, variables by file, members of structs by their name."""

    def __init__(self, sources):
        self.parameters, self.names = set(), {name: set() for name in sources}
        self.members = set()
        declared = {name: set(re.findall(r"\bFILE \*(\w+)", text)) for name, text in sources.items()}
        fields = {field for text in sources.values() for field in re.findall(r"^  FILE \*(\w+);", text, re.M)}
        found = [(name, *one) for name, text in sources.items() if not name.endswith(".h") for one in FUNCTION.findall(text)]
        takes = {function: "FILE *" in parameters for _, function, parameters, _ in found}
        size = None
        while size != (size := len(self.parameters) + len(self.members) + sum(map(len, self.names.values()))):
            for name, function, parameters, body in found:
                local = self.local(name, function, parameters, body)
                for dot, left, right in re.findall(r"([.>]?)\b(?<!FILE \*)(\w+) = (?=([^;,}]*))", body):
                    if left in (fields if dot else declared[name]) and self.is_stream(right, local):
                        (self.members if dot else self.names[name]).add(left)
                for match in CALL.finditer(body):
                    if takes.get(match[1]):
                        args = arguments(body, match.end())
                        self.parameters |= {(match[1], i) for i, each in enumerate(args) if self.is_stream(each, local)}

    def local(self, name, function, parameters, body):
        """The names in a function."""
        found = {re.search(r"(\w+)\W*$", each)[1] for i, each in enumerate(parameters.split(",")) if (function, i) in self.parameters}
        found |= self.names[name] - set(re.findall(r"FILE \*(\w+)", parameters + body))
        return found | {left for left, right in re.findall(r"FILE \*(\w+) = ([^;]*);", body) if self.is_stream(right, found)}

    def is_stream(self, expression, local):
        """Whether it may be standard output or error."""
        for part in parts(expression.strip()):
            member = re.search(r"(?:\.|->)(\w+)$", part)
            if part in ("stdout", "stderr") or part in local or (member and member[1] in self.members):
                return True
        return False


def is_followed(text, match):
    """Whether Streams sees this use: as an argument, or where it is assigned to a name."""
    before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
    if not before.endswith(("(", ",", "=", "?", ":")) or not after.startswith((")", ",", ";", ":", "}")):
        return False
    depth, at = 0, len(before) - 1
    while depth or before[at] not in "({;=":
        depth += (before[at] in ")}") - (before[at] in "({")
        at -= 1
    return before[at] != "{"


def printed(function, args, is_stream):
    """The arguments that are printed as text."""
    if function in ("fputs", "fwrite", "fputc", "putc"):
        return args[:1] if is_stream(args[-1]) else []
    if function in ("puts", "putchar"):
        return args[:1]
    if function in ("fprintf", "dprintf"):
        if function == "fprintf" and not is_stream(args[0]):
            return []
        args = args[1:]
    found, forms = [], parts(args[0])
    for form in forms:
        if not LITERAL.match(form):
            found.append(form)
        at = 1
        places = re.findall(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t)?([A-Za-z%])", "".join(STRING.findall(form)))
        for width, precision, kind in places:
            at += (width == "*") + (precision == "*")
            if kind == "%":
                continue
            if kind in "sc" and at < len(args):
                found.append(args[at])
            at += 1
    return found


def prints(text, streams, name):
    """The position and the text of each argument that may be text from files."""
    functions = [(one.start(3), one.end(3), one) for one in FUNCTION.finditer(text)]
    for match in PRINTF.finditer(plain(text)):
        one = next((one for start, end, one in functions if start <= match.start() < end), None)
        if not one:
            continue
        local = streams.local(name, *one.groups())
        for argument in printed(match[1], arguments(text, match.end()), lambda each: streams.is_stream(each, local)):
            yield from ((match.start(), part) for part in parts(argument) if not LITERAL.match(part))


def cxx_prints(text):
    """The same of << in C++."""
    for match in re.finditer(r"llvm::(?:outs|errs)\(\)((?:\"(?:[^\"\\]|\\.)*\"|[^;\"])*);", text):
        for part in re.split(r"\s*<<\s*", match[1])[1:]:
            if not LITERAL.match(part):
                yield match.start(), part


def methods(text):
    """The methods that make text for people: name and body."""
    for match in re.finditer(r"^( +)def (__str__|__repr__)\(.*\n((?:\1 +.*\n|\n)+)", text, re.M):
        yield match[2], match[3]


def read(path):
    """The text without comments and attributes, and with PRIu64 as part of its literal."""
    text = path.read_text()
    blank = lambda match: re.sub(r"[^\n]", " ", match[0]) if match[1] is None else match[1]
    text = re.sub(STRING.pattern + r"|/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?", lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return re.sub(r'"\s*PRI\w+(\s*")?', lambda match: "u" + "\n" * match[0].count("\n") + ("" if match[1] else '"'), text)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    names = [path.relative_to(root).as_posix() for folder in FOLDERS for path in sorted((root / folder).rglob("*.[ch]*"))]
    sources = {name: read(root / name) for name in names
               if name != PRINTER and not name.startswith((GENERATOR, *SKIPPED)) and name.endswith((".c", ".h", ".cpp"))}
    streams = Streams({name: text for name, text in sources.items() if not name.endswith(".cpp")})
    said, used = [], {name: set() for name in OWN}
    for name, text in sources.items():
        line = lambda at: f"{name}:{text.count(chr(10), 0, at) + 1}"
        for at, argument in prints(text, streams, name) if not name.endswith(".cpp") else cxx_prints(text):
            if argument in OWN.get(name, ()):
                used[name].add(argument)
            else:
                said.append(f"{line(at)}: prints {argument}")
        said += [f"{line(match.start())}: who prints to {match[0]} is not seen" for match in STREAM.finditer(plain(text))
                 if not is_followed(plain(text), match)]
    said += [f"{name}: {argument} is not printed any more" for name in OWN for argument in sorted(OWN[name] - used[name])]
    for path in sorted((root / "python/kdl").glob("*.py")):
        name = path.relative_to(root).as_posix()
        said += [f"{name}: {method} without printable()" for method, body in methods(path.read_text())
                 if "printable(" not in body and (name, method) not in OWN_METHODS]
    print("\n".join(said), end="\n" if said else "")
    sys.exit(1 if said else 0)


if __name__ == "__main__":
    main()
