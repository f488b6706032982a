# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""json_text.py FILE: sets metadata that is hard to quote and reads it back through `ls --json`."""
import json
import subprocess
import sys

values = {
    "quotes": 'a "b" \\c\\',
    "control": "\x01\x1b[31m\n\t\x7f",
    "utf8": "grün 核 \U0001f680",
    "comma": "a,b=c",
    "empty": "",
    "key with spaces": "v",
}
odd = {
    b"latin": b"gr\xfcn",  # not UTF-8
    b"overlong": b"\xc0\xaf",
    b"surrogate": b"\xed\xa0\x80",
    b"k\xff": b"v",
}
library = sys.argv[1]
pairs = [f"{key}={value}".encode() for key, value in values.items()]
pairs += [key + b"=" + value for key, value in odd.items()]
subprocess.run([b"kdl", b"annotate", library.encode(), b"--image=0"] + pairs, check=True)
output = subprocess.run(["kdl", "ls", "--json", library], check=True, stdout=subprocess.PIPE).stdout
metadata = json.loads(output.decode("utf-8"))["images"][0]["metadata"]
for key, value in values.items():
    assert metadata[key] == value, (key, value, metadata[key])
assert metadata["latin"] == {"hex": "6772fc6e"}, metadata
assert metadata["overlong"] == {"hex": "c0af"}, metadata
assert metadata["surrogate"] == {"hex": "eda080"}, metadata
assert metadata["hex:6bff"] == "v", metadata
table = subprocess.run(["kdl", "ls", library], check=True, stdout=subprocess.PIPE).stdout
assert b"\x1b" not in table and rb"control=\x01\x1b[31m\x0a\x09\x7f" in table, table
