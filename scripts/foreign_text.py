#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds who prints text from files as it is: it could control the terminal. cli_text_printf, cli_text_print and tables
(tools/common/text.h) escape it, as do cli_error, cli_warning and cli_note.

Text from files is each %s, and each text of fputs, puts and fwrite to standard output or error, but for literals and the command's own words,
which are listed here. In Python, it is what a __str__ or a __repr__ does not pass to printable().
"""
import pathlib
import re
import sys

FOLDERS = ["tools", "pack", "ext", "bench/tool", "cc", "compiler", "ld"]
PRINTF = re.compile(r"(?<![A-Za-z_])(?:(?:printf|fputs|puts|fwrite)\(|fprintf\((?:stdout|stderr),|dprintf\([^,]+,)")
STREAMS = ("stdout", "stderr")
LITERAL = re.compile(r'^(?:"(?:[^"\\]|\\.)*"\s*)+$')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

# The command's own words: the arguments of a file.
OWN = {
    "bench/tool/bench_text.c": {"step", "timer", "title_of(mode)"},
    "cc/messages.c": {"cli_report_name()", "jobs[i].label", "join", "m->text.data", "m->text.data + first"},  # Clang's messages, which escape, with its colours; targets, which were parsed
    "ext/inject/recording.c": {"strerror(problem)"},
    "ext/jit/commands/cache_stat.c": {"mode_names[settings->mode]"},
    "ext/trace/trace.c": {"kdl_error_message()", "name"},  # the path of the user's KDL_TRACE
    "ld/confine/confine.c": {"key", "strerror(problem)"},
    "ld/main.c": {"build", "kdl_version()", "llvm", "reason"},  # LLVM's words, which libkdl reads
    "pack/check/check_text.c": {"before", "one", "rows[i].of_one", "rows[i].of_several", "several"},
    "pack/diff/diff_markdown.c": {"diff_change_name((diff_change)change)", "diff_change_name(change)", "shown"},  # made printable
    "pack/diff/diff_text.c": {"diff_change_name((diff_change)change)", "diff_change_name(change)", "separator"},
    "pack/thin/print.c": {"format_size(report->zeroed_bytes, more)", "line", "zeros"},
    "tools/common/options.c": {"left"},
    "tools/common/output.c": {"data"},  # -o -, the bytes of a file
    "tools/common/progress.c": {"text"},  # numbers
    "tools/common/report.c": {"colour", "level", "name"},
    "tools/common/run_times.c": {"what"},
    "tools/kdl/commands/cmd_devices.c": {"gap", "missing"},
    "tools/kdl/commands/llvm_offload_binary.c": {"kdl_version()"},
    "tools/kdl/commands/run_sanitize.c": {"cli_report_name()"},
    "tools/kdl/explain/cmd_which.c": {"cli_image_kind_name(&image, room)"},
    "tools/kdl/explain/explain_sequence.c": {"marks[step->kind]"},
    "tools/kdl/explain/explain_text.c": {"before", "cli_count(ranking->count - count, room)", "label"},
    "tools/kdl/main.c": {"kdl_codec_name(codec)", "kdl_error_message()", "kdl_version()"},
    "tools/kdl/sign/cmd_sign.c": {"message.data"},  # the bytes that a program is to sign
    "tools/kdl/trace/trace_text.c": {"lines[i].title"},
    "tools/kdl/verify/cmd_verify.c": {"levels[level].colour", "levels[level].name"},
}
# Methods of Python that print numbers and libkdl's own names.
OWN_METHODS = {("python/kdl/_matmul.py", "__repr__")}
PRINTER = "tools/common/text.c"
GENERATOR = "tools/kdl/describe/"  # writes pages and completions from the table of commands


def calls(text):
    """The position and the arguments of each call."""
    for match in PRINTF.finditer(text):
        depth, at, start, args = 1, text.index("(", match.start()) + 1, match.end(), []
        while depth:
            string = STRING.match(text, at)
            if string:
                at = string.end()
                continue
            depth += text[at] in "([{"
            depth -= text[at] in ")]}"
            if not depth or (depth == 1 and text[at] == "," and at >= start):
                args.append(text[start:at].strip())
                start = at + 1
            at += 1
        yield match.start(), match[0], args


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


def printed(function, args):
    """The arguments that are printed as text."""
    if function in ("fputs(", "fwrite("):
        return args[:1] if args[-1] in STREAMS else []
    if function == "puts(":
        return args[:1]
    form = "".join(STRING.findall(args[0])) if args else ""
    places = re.findall(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t)?([A-Za-z%])", re.sub(r'"PRI\w+"', "u", form))
    at, found = 1, []
    for width, precision, kind in places:
        at += (width == "*") + (precision == "*")
        if kind == "%":
            continue
        if kind == "s" and at < len(args):
            found.append(args[at])
        at += 1
    return found


def foreign(function, args):
    """The arguments that may be text from files."""
    for argument in printed(function, args):
        yield from (part for part in parts(argument) if not LITERAL.match(part))


def methods(text):
    """The methods that make text for people: name and body."""
    for match in re.finditer(r"^( +)def (__str__|__repr__)\(.*\n((?:\1 +.*\n|\n)+)", text, re.M):
        yield match[2], match[3]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    said, used = [], {name: set() for name in OWN}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")):
            name = path.relative_to(root).as_posix()
            if name == PRINTER or name.startswith(GENERATOR):
                continue
            text = re.sub(r'"\s*PRI\w+\s*"?', lambda m: "u" + "\n" * m[0].count("\n"), path.read_text())
            for at, function, args in calls(text):
                for argument in foreign(function, args):
                    if argument in OWN.get(name, ()):
                        used[name].add(argument)
                    else:
                        said.append(f"{name}:{text.count(chr(10), 0, at) + 1}: prints {argument}")
    said += [f"{name}: {argument} is not printed any more" for name in OWN for argument in sorted(OWN[name] - used[name])]
    for path in sorted((root / "python/kdl").glob("*.py")):
        name = path.relative_to(root).as_posix()
        said += [f"{name}: {method} without printable()" for method, body in methods(path.read_text())
                 if "printable(" not in body and (name, method) not in OWN_METHODS]
    print("\n".join(said), end="\n" if said else "")
    sys.exit(1 if said else 0)


if __name__ == "__main__":
    main()
