#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tokenizer_bench measures, with PyPI's tokenizers on one core: texts one by one and in batches.

scripts/make-tokenizers-environment VENV; VENV/bin/python bench/tokenizer_bench.py MODEL_FOLDER TEXTS [MAX_LENGTH]
"""
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
tokenizer.no_padding()
tokenizer.no_truncation()
if len(sys.argv) > 3:
    tokenizer.enable_truncation(int(sys.argv[3]))
texts = open(sys.argv[2], encoding="utf-8").read().splitlines()
for name, encode in [
    ("one by one", lambda: sum(len(tokenizer.encode(text).ids) for text in texts)),
    ("in batches", lambda: sum(len(e.ids) for i in range(0, len(texts), 256) for e in tokenizer.encode_batch_fast(texts[i : i + 256]))),
]:
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        ids = encode()
        best = min(best, time.process_time() - begin)
    print(f"{name}: {len(texts)} texts, {ids} ids, {best:.3f} s, {ids / best / 1e6:.2f} million ids/s")
