#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the files that a page shows, blocks that begin with ```LANGUAGE NAME, into the current folder.

    page_files.py PAGE
"""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as page:
    blocks = re.findall(r"^```\w+ ([\w.]+)\n(.*?)^```$", page.read(), re.DOTALL | re.MULTILINE)
for name, text in blocks:
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
if not blocks:
    sys.exit(f"{sys.argv[1]} shows no file")
