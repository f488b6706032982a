#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""write_known.py KDL: prints python/variants/src/kdl_variant_provider/known.py anew."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python/variants/src"))
sys.modules["kdl_variant_provider.known"] = type(sys)("known")
sys.modules["kdl_variant_provider.known"].KNOWN = {}
import kdl_variant_provider as provider  # noqa: E402

os.environ["KDL"] = sys.argv[1]
known = provider.features_of(provider.ask_kdl("--all", "--device=zen4"), only_supported=False)
print("# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
print('"""Every value there is, as tests/python/write_known.py writes them from kdl."""\n')
print("KNOWN = {")
for feature in sorted(known):
    print(f'    "{feature}": [')
    for value in sorted(known[feature]):
        print(f'        "{value}",')
    print("    ],")
print("}")
