# SPDX-License-Identifier: MIT
"""Fine-tunes MiniLM with the Trainer of transformers: to which section does a Debian package belong, by its description?

    minilm_trainer.py --model_folder DIR --data_folder DIR --output_dir DIR [any argument of the Trainer, such as --learning_rate 1e-4]
"""
import csv
import itertools
import os
from dataclasses import dataclass, field

from torch.utils.data import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments, set_seed

from hpo.transformers import HpoCallback

SECTIONS = ["devel", "doc", "fonts", "games", "java", "libdevel", "libs", "net", "perl", "python"]


@dataclass
class Data:
    model_folder: str = field(metadata={"help": "the folder of the model"})
    data_folder: str = field(metadata={"help": "the folder of train.tsv and validation.tsv"})
    max_length: int = field(default=64, metadata={"help": "tokens of a description"})
    examples: int = field(default=64, metadata={"help": "descriptions to train with"})


class Descriptions(Dataset):
    def __init__(self, path, count, tokenizer, max_length):
        with open(path, encoding="utf-8", newline="") as file:
            rows = (row for row in csv.DictReader(file, dialect="excel-tab") if row["label"] in SECTIONS)
            chosen = list(itertools.islice(rows, count))
        self.labels = [SECTIONS.index(row["label"]) for row in chosen]
        self.tokens = tokenizer([row["text"] for row in chosen], truncation=True, max_length=max_length, padding="max_length")

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"labels": self.labels[index], **{name: values[index] for name, values in self.tokens.items()}}


def main():
    data, arguments = HfArgumentParser((Data, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(arguments.seed)
    tokenizer = AutoTokenizer.from_pretrained(data.model_folder)
    # Without dropout, a batch and its pieces give the same gradients.
    model = AutoModelForSequenceClassification.from_pretrained(
        data.model_folder, num_labels=len(SECTIONS), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager"
    )
    trainer = Trainer(
        model,
        arguments,
        train_dataset=Descriptions(os.path.join(data.data_folder, "train.tsv"), data.examples, tokenizer, data.max_length),
        eval_dataset=Descriptions(os.path.join(data.data_folder, "validation.tsv"), 16, tokenizer, data.max_length),
        callbacks=[HpoCallback("eval_loss", step="epoch")],
    )
    trainer.train()
    print("held-out loss", [told["eval_loss"] for told in trainer.state.log_history if "eval_loss" in told][-1])


if __name__ == "__main__":
    main()
