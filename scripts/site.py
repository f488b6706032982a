#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation as web pages: every Markdown page that README.md and docs/ lead to, the files that they link to,
and a page for each public header, made of its comments.

    site.py [OUT]

MkDocs Material comes from the Python index into build/site-venv, once; then nothing is fetched. A link that leads
nowhere fails the build.
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
STAGE = BUILD / "site-src"
VENV = BUILD / "site-venv"
PACKAGE = "mkdocs-material==9.8.1"
API = ["kdl", "launch", "sequence", "backend", "backend_in_process", "kernel", "math", "mma", "matmul", "embed", "each", "host_abi",
       "ukernel", "ukernels"]
CODE = re.compile(r"^(`{3,}).*?^\1\s*?$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\(|^\[[^\]^]+\]:\s+|(?:src|href)=\")([^)\s\"]+)", re.MULTILINE)


# ---------------------------------------------------------------------------------------------
# Headers

def plain(comment):
    """The text of a comment, without its stars."""
    lines = comment.strip()[2:-2].split("\n")
    lines = [re.sub(r"^\s*\*? ?", "", line) if i else line.strip() for i, line in enumerate(lines)]
    return "\n".join(lines).strip("\n").rstrip()


def prose(text):
    """Paragraphs as they are; what is indented by four is code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text):
        is_code = all(line.startswith("    ") or not line.strip() for line in paragraph.split("\n"))
        if is_code:
            code = "\n".join(line[4:] for line in paragraph.split("\n"))
            if parts and parts[-1].endswith("```"):
                parts[-1] = parts[-1][:-3] + "\n" + code + "\n```"
            else:
                parts.append(f"```c\n{code}\n```")
        else:
            parts.append(html.escape(paragraph.strip(), quote=False))
    return "\n\n".join(parts)


def page_of_header(name):
    text = (ROOT / "include" / "kdl" / f"{name}.h").read_text(encoding="utf-8")
    text = re.sub(r"\A/\* SPDX.*?\*/\n", "", text)
    for frame in (r"^#ifndef (KDL_\w+_H)\n#define \1\n", r"^#ifdef __cplusplus\n(extern \"C\" \{|\})\n#endif\n", r"^#include <std\w+\.h>\n",
                  r"^#ifndef KDL_KDL_H\n#error .*\n#endif\n", r"^#endif\s*\Z"):
        text = re.sub(frame, "", text, flags=re.MULTILINE)
    parts = [f"# `<kdl/{name}.h>`\n\nMade of the comments of [the header](../include/kdl/{name}.h).\n"]
    code, is_title = [], False

    def flush():
        shown = re.sub(r"\n{3,}", "\n\n", "\n".join(code).strip("\n"))
        code.clear()
        if shown:
            parts.append(f"```c\n{shown}\n```\n")

    at = 0
    comment = re.compile(r"/\*.*?\*/[ \t]*\n", re.DOTALL)
    while at < len(text):
        found = comment.match(text, at)
        if found:
            at = found.end()
            words = plain(found.group(0))
            if re.fullmatch(r"-+", words):
                is_title = True
            elif is_title:
                flush()
                parts.append(f"## {words}\n")
                is_title = False
            else:
                flush()
                parts.append(prose(words) + "\n")
            continue
        end = text.find("\n", at)
        line = text[at:end if end >= 0 else len(text)]
        at = end + 1 if end >= 0 else len(text)
        code.append(line)
    flush()
    return "\n".join(parts)


# ---------------------------------------------------------------------------------------------
# Pages

def tracked():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\n") if name]


def page_of_folder(folder, files):
    """For a link to a folder: what is in it."""
    below = sorted({name[len(folder) + 1:].split("/")[0] for name in files if name.startswith(folder + "/")})
    lines = [f"# {folder}/", ""]
    for name in below:
        if f"{folder}/{name}" in files:
            lines.append(f"- [{name}]({name})")
    return "\n".join(lines) + "\n"


def with_anchors(text):
    """Headings and <a id> with the anchors that GitHub gives them."""
    seen, in_code, lines = {}, False, []
    for line in text.split("\n"):
        if line.startswith("```"):
            in_code = not in_code
            line = line.split(" ")[0]  # MkDocs knows no words after the language
        heading = None if in_code else re.match(r"(#{1,6})\s+(.*?)\s*$", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(2)).replace("`", "")
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            line = f"{heading.group(0)} {{#{anchor}-{count}}}" if count else f"{heading.group(0)} {{#{anchor}}}"
        lines.append(re.sub(r"<a id=\"([^\"]+)\"></a>", r"[](){#\1}", line) if not in_code else line)
    return "\n".join(lines)


class Stage:
    """Copies pages and what they link to; links to folders and headers lead to pages for these."""

    def __init__(self):
        self.files = set(tracked())
        self.done, self.todo = set(), []

    def want(self, name):
        if name not in self.done:
            self.done.add(name)
            self.todo.append(name)

    def target(self, page, link):
        """The link as the site has it."""
        if re.match(r"[a-z]+:|#|//", link):
            return link
        path, mark, anchor = link.partition("#")
        base = (ROOT / page).parent
        name = (base / path).resolve().relative_to(ROOT).as_posix()
        up = "../" * len(pathlib.PurePosixPath(page).parent.parts)
        header = re.fullmatch(r"include/kdl/(\w+)\.h", name)
        if header and header.group(1) in API:
            return f"{up}api/{header.group(1)}.md"
        if (ROOT / name).is_dir():
            inner = f"{name}/README.md"
            self.want(inner if inner in self.files else name)
            return f"{up}{inner if inner in self.files else name + '/index.md'}"
        self.want(name)
        return f"{up}{name}{mark}{anchor}"

    def rewrite(self, page, text):
        pieces, at = [], 0
        change = lambda part: LINK.sub(lambda found: found.group(1) + self.target(page, found.group(2)), part)
        for code in CODE.finditer(text):
            pieces += [change(text[at:code.start()]), code.group(0)]
            at = code.end()
        return with_anchors("".join(pieces) + change(text[at:]))

    def add(self, name):
        to = STAGE / name
        if (ROOT / name).is_dir():
            to.mkdir(parents=True, exist_ok=True)
            listing = page_of_folder(name, self.files)
            for file in re.findall(r"\(([^)]+)\)", listing):
                self.want(f"{name}/{file}")
            (to / "index.md").write_text(listing, encoding="utf-8")
            return
        to.parent.mkdir(parents=True, exist_ok=True)
        if not (ROOT / name).exists():
            sys.exit(f"site: a page links to {name}, which does not exist")
        if name.endswith(".md"):
            to.write_text(self.rewrite(name, (ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copy(ROOT / name, to)

    def run(self):
        shutil.rmtree(STAGE, ignore_errors=True)
        for name in sorted(self.files):
            if re.fullmatch(r"(README|SECURITY|CONTRIBUTING)\.md|docs/.*\.md", name):
                self.want(name)
        for name in API:
            self.want(f"include/kdl/{name}.h")
        while self.todo:
            self.add(self.todo.pop())
        (STAGE / "api").mkdir(parents=True)
        for name in API:
            (STAGE / "api" / f"{name}.md").write_text(page_of_header(name), encoding="utf-8")
        shutil.copy(ROOT / "docs" / "site" / "site.css", STAGE)


def write_config(files, out):
    text = (ROOT / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    api = "".join(f"\n          - kdl/{name}.h: api/{name}.md" for name in API)
    decisions = "".join(f"\n          - {name}" for name in sorted(files) if re.fullmatch(r"docs/decisions/\d.*\.md", name))
    text = text.replace(" [API]", api).replace(" [DECISIONS]", decisions)
    config = BUILD / "site-mkdocs.yml"
    config.write_text(f"{text}docs_dir: {STAGE}\nsite_dir: {out}\n", encoding="utf-8")
    return config


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else BUILD / "site").resolve()
    mkdocs = VENV / "bin" / "mkdocs"
    if not mkdocs.exists():
        for step in ([sys.executable, "-m", "venv", str(VENV)], [str(VENV / "bin" / "pip"), "install", "--quiet", PACKAGE]):
            if subprocess.run(step, check=False).returncode != 0:
                print(f"skipped: {PACKAGE} is not to be had from the Python index (Debian: python3-venv)")
                return 77
    stage = Stage()
    stage.run()
    config = write_config(stage.files, out)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([str(mkdocs), "build", "--strict", "-f", str(config)], env=environment,
                          capture_output=True, text=True, check=False)
    sys.stderr.writelines(line + "\n" for line in done.stderr.splitlines() if not line.startswith("INFO"))
    if done.returncode == 0:
        print(f"site: {out}: {sum(1 for _ in out.rglob('*.html'))} pages")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
