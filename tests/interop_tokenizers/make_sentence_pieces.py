#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/text/models/sentence_piece and tests/text/sentence_piece_references.json: a small SentencePiece model, and what the
tokenizer of DeBERTa-v3 that `transformers` has makes of hard texts with it.

    python3 -m venv VENV && VENV/bin/pip install transformers==4.57.1 sentencepiece==0.2.1 protobuf
    VENV/bin/python tests/interop_tokenizers/make_sentence_pieces.py TEXTS

TEXTS is a file with one text a line; the first 20,000 are used. transformers 5 has another tokenizer of this name, which passes over the
model's own rules for characters; the one that reads them is what published models were trained with.
"""
import io
import json
import pathlib
import sys
import tempfile
import unicodedata

sys.dont_write_bytecode = True

import reference
import sentencepiece
from transformers import DebertaV2Tokenizer

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "text"


def rules():
    """A few hundred rules of all kinds; the usual ones would be a quarter of a megabyte."""
    found = {}
    for c in [*range(0xA0, 0x180), *range(0x1E00, 0x1F00), *range(0x2000, 0x2070), *range(0x3000, 0x3002), *range(0xFB00, 0xFB07), *range(0xFF01, 0xFF5F)]:
        for form in ("NFD", "NFKD"):
            found[unicodedata.normalize(form, chr(c))] = unicodedata.normalize("NFKC", chr(c))
        found[chr(c)] = unicodedata.normalize("NFKC", chr(c))
    found |= {chr(c): "" for c in [*range(0x1, 0x9), 0xB, *range(0xE, 0x20), 0x7F, 0x200B, 0xAD, 0xFEFF]}
    found |= {c: " " for c in "\t\n\f\r\u0085\u2028\u2029"}
    return {before: after for before, after in found.items() if before != after}


def hexes(text):
    return " ".join(f"{ord(c):X}" for c in text)


def train(lines):
    short = [text.replace("\n", " ").replace("\0", "") for _, text, times in reference.NASTY if times == 1]
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "rules.tsv"
        table.write_text("".join(f"{hexes(before)}\t{hexes(after)}\n" for before, after in sorted(rules().items())))
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines + short * 40), model_writer=model, model_type="unigram", vocab_size=900, character_coverage=0.999,
            normalization_rule_tsv=str(table), pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]",
            eos_piece="[SEP]", unk_piece="[UNK]", num_threads=1, minloglevel=2,
        )  # fmt: skip
    return model.getvalue()


def main():
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()[:20000]
    folder = FOLDER / "models" / "sentence_piece"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spm.model").write_bytes(train(lines))
    reference.dump(folder / "config.json", {"model_type": "deberta-v2", "vocab_size": 910})
    reference.dump(folder / "tokenizer_config.json", {"do_lower_case": False, "vocab_type": "spm"})
    tokenizer = DebertaV2Tokenizer(str(folder / "spm.model"))
    rows = []
    for name, text, times in reference.NASTY:
        rows.append(f"{json.dumps(name)}: {json.dumps(reference.runs(tokenizer(text * times)['input_ids']), separators=(',', ':'))}")
    texts = json.dumps([list(row) for row in reference.NASTY])
    cases = ",\n  ".join(rows)
    way = f'{{"name": "sentence_piece", "folder": "sentence_piece", "settings": {{}}, "ids": {{\n  {cases}}}}}'
    (FOLDER / "sentence_piece_references.json").write_text(f'{{"texts": {texts},\n"ways": [\n{way}]}}\n')


main()
