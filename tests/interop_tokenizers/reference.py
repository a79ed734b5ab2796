# SPDX-License-Identifier: MIT
"""The tokenizers of published models as PyPI's `tokenizers` makes them, and texts that are hard for them."""
import json

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

# Name, text, times: the text repeated so often.
NASTY = [
    ("empty", "", 1),
    ("only spaces", "     ", 1),
    ("only white space of all kinds", " \t\n\r\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000", 1),
    ("plain", "The quick brown fox jumps over the lazy dog.", 1),
    ("capitals", "HELLO World McDonald eBay iPhone", 1),
    ("contractions", "I'm sure they've said it's John's, we'll see; don't 'stop' it'd 'RE 'Ll", 1),
    ("punctuation", "(a)[b]{c}<d>,e.f;g:h!i?j-k_l+m=n/o\\p|q~r`s@t#u$v%w^x&y*z\"'", 1),
    ("composed accents", "Caf\u00e9 na\u00efve r\u00e9sum\u00e9 \u00c5ngstr\u00f6m \u0141\u00f3d\u017a \u00d8re", 1),
    ("decomposed accents", "Cafe\u0301 nai\u0308ve re\u0301sume\u0301 A\u030angstro\u0308m", 1),
    ("accents stacked in both orders", "a\u0301\u0323b a\u0323\u0301b \u1ead\u0302 \u0344", 1),
    ("accents alone", "\u0301 \u0308\u0301 x \u20dd", 1),
    ("Turkish", "\u0130stanbul I\u015f\u0131k \u0131\u0307 TI\u0307TLE", 1),
    ("German", "Stra\u00dfe GRO\u1e9e \u00dcbergr\u00f6\u00dfe", 1),
    ("Greek", "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u03c3\u03c2 \u0386\u03bb\u03c6\u03b1 \u1f08\u03c1\u03c7\u03ae", 1),
    ("Cyrillic", "\u041f\u0440\u0438\u0432\u0435\u0442 \u0439\u043e\u0433\u0443\u0440\u0442 \u0401\u043b\u043a\u0430", 1),
    ("Chinese", "\u5317\u4eac\u6b22\u8fce\u4f60abc\u6b22123\u3002\uff0c\uff01", 1),
    ("Chinese beyond the first plane", "x\U00020000y\U0002a6dfz \U0002f800\uf900", 1),
    ("Japanese", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u30c6\u30b9\u30c8\u304c\u30d1\uff76\uff9e", 1),
    ("Korean", "\uc548\ub155\ud558\uc138\uc694 \u1100\u1161\u11a8 \uac01", 1),
    ("Thai and Hindi", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u093c", 1),
    ("right to left", "\u05e9\u05dc\u05d5\u05dd \u202b\u0645\u0631\u062d\u0628\u0627\u202c \u0640\u0651\u064e", 1),
    ("emoji joined", "\U0001f468\u200d\U0001f469\u200d\U0001f467 ok \U0001f44d\U0001f3fd \u2764\ufe0f \U0001f1e9\U0001f1ea", 1),
    ("control characters", "a\u0000b\u0001c\u007fd\u0085e\u200bf\ufeffg\u00adh\ufffdi\ue000j\x0bk\x0cl\x1cm", 1),
    ("spaces that do not break", "a\u00a0b\u202fc\u2009d  e\u3000f", 1),
    ("lines and tabs", "one\ttwo\nthree\r\nfour\n\n\n five\t\t six \n", 1),
    ("digits", "0 12 3456 1,234.5 1e-9 0x1F \u0663\u0664 \u0967 2024-01-02 v3.1.4", 1),
    ("superscripts and fractions", "x\u00b2 y\u2083 \u00bd \u2167 \u2460 5\u00b5m \ufb01ne \u2122", 1),
    ("full width", "\uff21\uff22\uff43 \uff11\uff12", 1),
    ("symbols", "\u20ac5 \u00a310 \u00b14 \u2192 \u2260 \u221e \u00a9 \u2026 \u2014 \u2018q\u2019 \u201cq\u201d", 1),
    ("special tokens in the text", "a [MASK] b[SEP]c [CLS] [mask] [UNK] a <mask> b</s>c <s> <MASK> <pad>", 1),
    ("special tokens and spaces", "  \u00a0<mask>  <mask>\n[MASK]  x", 1),
    ("markup", "<p>see https://www.example.org/~user/index.html?q=a&b=c#d</p>", 1),
    ("a path", "/usr/share/doc/libfoo-dev/README.Debian.gz", 1),
    ("code", "for (int i = 0; i < n; ++i) { sum += a[i]; }  // ok", 1),
    ("mathematical letters", "\U0001d400\U0001d4b6 \u2115 \u212b \u2126 \u212a", 1),
    ("one word of 100 letters", "ab" * 50, 1),
    ("one word of 101 letters", "ab" * 50 + "c", 1),
    ("one word of 100 letters with accents", "a\u0301" * 100, 1),
    ("a million letters in one word", "a", 1000000),
    ("a million characters of words", "package ", 125000),
    ("a million characters without a space", "ab1.", 250000),
    ("a million spaces", " ", 1000000),
    ("a million Chinese characters", "\u5317", 1000000),
    ("a hundred thousand accents", "\u0301\u0323", 50000),
    ("a million apostrophes", "'s", 500000),
]


def word_piece(vocab, lower=True, accents=None, chinese=True):
    """BERT's, as published models set it up."""
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"]))
    return tokenizer


def byte_level_bpe(vocab, merges, prefix_space=False):
    """RoBERTa's, as published models set it up."""
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", vocab["</s>"]), ("<s>", vocab["<s>"]), trim_offsets=True, add_prefix_space=prefix_space
    )
    return tokenizer


def ids(tokenizer, text, max_length=None):
    if max_length is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_length)
    return tokenizer.encode(text).ids


def dump(path, value, **kwargs):
    path.write_text(json.dumps(value, ensure_ascii=True, **kwargs) + "\n")


def runs(ids):
    """[ids, how often] for each stretch that repeats up to eight ids; what repeats nothing is one stretch."""
    found, at = [], 0
    while at < len(ids):
        best, times = 1, 1
        for size in range(1, 9):
            count = 1
            while ids[at : at + size] == ids[at + count * size : at + (count + 1) * size]:
                count += 1
            if count > 2 and count * size > best * times:
                best, times = size, count
        if times == 1 and found and found[-1][1] == 1:
            found[-1][0].append(ids[at])
        else:
            found.append([ids[at : at + best], times])
        at += best * times
    return found
