#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sets extended attributes of a file, as far as the file system and the user's rights let it, or checks what became of
them: thin_attributes.py set|check FILE"""
import os
import sys

KEPT, GONE = {"user.kdl": b"kept"}, {"security.capability": bytes.fromhex("0100000200040000000000000000000000000000")}
action, path = sys.argv[1:]
if action == "set":
    for name, value in {**KEPT, **GONE}.items():
        try:
            os.setxattr(path, name, value)
        except OSError as error:
            print(name, error)
else:
    found = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    possible = True
    try:
        os.setxattr(path, "user.other", b"x")
    except OSError:
        possible = False
    assert not possible or found.get("user.kdl") == b"kept", found
    assert "security.capability" not in found, found
