#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/text/models and tests/text/references.json: two small vocabularies, and what `tokenizers` makes of hard texts.

    scripts/make-tokenizers-environment VENV
    VENV/bin/python tests/interop_tokenizers/make_references.py TEXTS

TEXTS is a file with one text a line, such as package descriptions; the first 20,000 are used. Another release of `tokenizers` or
other texts give other vocabularies, and the tests hold all the same.
"""
import itertools
import json
import pathlib
import sys

import reference
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "text"


def train(texts):
    short = [text for _, text, times in reference.NASTY if times == 1]
    texts = texts + short * 40  # so that the vocabularies know pieces of every script
    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=900, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=160
        ),
    )
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=800,
            show_progress=False,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return pieces, json.loads(pairs.to_str())["model"]


def main():
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()[:20000]
    pieces, pairs = train(lines)
    vocab = pieces.get_vocab()
    merges = [tuple(merge) for merge in pairs["merges"]]
    for name in ("word_piece", "byte_level_bpe"):
        (FOLDER / "models" / name).mkdir(parents=True, exist_ok=True)
    folder = FOLDER / "models" / "word_piece"
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in sorted(vocab, key=vocab.get)), encoding="utf-8")
    reference.dump(folder / "config.json", {"model_type": "bert", "vocab_size": len(vocab)})
    reference.dump(folder / "tokenizer_config.json", {"do_lower_case": True, "tokenizer_class": "BertTokenizer"})
    folder = FOLDER / "models" / "byte_level_bpe"
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    reference.dump(folder / "vocab.json", pairs["vocab"])
    reference.dump(folder / "config.json", {"model_type": "roberta", "vocab_size": len(pairs["vocab"])})
    reference.dump(folder / "tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"})

    # Name, model folder, settings that differ from the folder's, the reference.
    ways = [
        ("word_piece", "word_piece", {}, reference.word_piece(vocab)),
        ("word_piece cased", "word_piece", {"do_lower_case": False}, reference.word_piece(vocab, lower=False)),
        ("word_piece with accents", "word_piece", {"strip_accents": False}, reference.word_piece(vocab, accents=False)),
        ("word_piece, Chinese in words", "word_piece", {"tokenize_chinese_chars": False}, reference.word_piece(vocab, chinese=False)),
        ("byte_level_bpe", "byte_level_bpe", {}, reference.byte_level_bpe(pairs["vocab"], merges)),
        ("byte_level_bpe after a space", "byte_level_bpe", {"add_prefix_space": True}, reference.byte_level_bpe(pairs["vocab"], merges, True)),
    ]
    plain = {name: {} for name, _, _, _ in ways}
    for (way, _, _, tokenizer), (name, text, times) in itertools.product(ways, reference.NASTY):
        if times == 1 or way in ("word_piece", "byte_level_bpe"):
            plain[way][name] = reference.runs(reference.ids(tokenizer, text * times))
    lines = [f'"texts": {json.dumps([list(row) for row in reference.NASTY])}']
    rows = []
    for way, folder, settings, _ in ways:
        cases = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in plain[way].items())
        rows.append(f'{{"name": {json.dumps(way)}, "folder": {json.dumps(folder)}, "settings": {json.dumps(settings)}, "ids": {{\n  {cases}}}}}')
    lines.append('"ways": [\n' + ",\n".join(rows) + "]")
    (FOLDER / "references.json").write_text("{" + ",\n".join(lines) + "}\n")


main()
