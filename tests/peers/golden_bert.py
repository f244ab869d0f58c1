#!/usr/bin/env python3
"""Golden numbers of BERT by Hugging Face transformers and torch: golden_bert.py FOLDER

Writes a small random BertForMaskedLM as a model folder, and beside it golden.safetensors:
  ids               i32 [texts, longest]   tokens of every text, -1 behind its end
  hidden.0 ... .L   [tokens, H]            states of every layer, texts one behind the other
  cls, mean         [texts, H]             pooled vectors
  logits            [tokens, V]            of the masked-LM head
  train.ids, train.labels  i32 [steps * texts, longest]  masked batches; -100: no label
  loss, norm        f64 [steps]            of every step: masked-LM loss, gradient norm before clipping
  grad.NAME                                gradient of every parameter in step 0
  after.NAME                               every parameter after the last step
  moved.NAME        [steps, PROJECTIONS]   how far a parameter is from its start after each step: sums
                                           of the differences, row after row, with the signs of signs()
and golden.json, which says how they were made. All is computed in float64 from float32 weights, so
that only the other side rounds."""
import json
import os
import platform
import random
import sys

import torch
import transformers
from safetensors.torch import save_file

STEPS, WARMUP, RATE, DECAY, CLIP = 10, 3, 2e-3, 0.1, 1.0
PROJECTIONS = 8
WORDS = ["ba", "de", "fi", "go", "hu", "ka", "lo", "mi", "nu", "pe", "ro", "sa", "te", "vu", "zo"]
TEXTS = [[], [3], [14, 2, 7], [5, 9, 31, 40, 12, 60, 77, 90], list(range(5, 24)),
         [98, 6, 33, 33, 41, 8, 70, 70, 71, 15, 22, 54, 19]]


def vocabulary(size):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS + ["##" + w for w in WORDS]
    return (tokens + [a + b for a in WORDS for b in WORDS])[:size]


def random_model():
    """The values come from Python's own generator, which is the same in all versions."""
    config = transformers.BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=40, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)
    model = transformers.BertForMaskedLM(config)
    draw = random.Random(20)
    for name, value in sorted(model.named_parameters()):
        ones = 1.0 if "LayerNorm.weight" in name else 0.0
        flat = [ones + 0.12 * draw.gauss(0, 1) for _ in range(value.numel())]
        value.data = torch.tensor(flat, dtype=torch.float32).reshape(value.shape)
    model.tie_weights()
    return model.eval()


def pad(rows, by):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [by] * (longest - len(row)) for row in rows], dtype=torch.int32)


def inputs(ids):
    """ids with -1 behind the end of each row, as transformers takes them."""
    return {"input_ids": ids.clamp(min=0).long(), "attention_mask": (ids >= 0).long()}


def forward(model, ids):
    there = ids >= 0
    with torch.no_grad():
        out = model(**inputs(ids), output_hidden_states=True)
    found = {f"hidden.{k}": states[there] for k, states in enumerate(out.hidden_states)}
    last, weight = out.hidden_states[-1], there.unsqueeze(-1).double()
    found["cls"] = last[:, 0]
    found["mean"] = (last * weight).sum(1) / weight.sum(1)
    found["logits"] = out.logits[there]
    return found


def masked_batches(ids, mask_id):
    draw = random.Random(21)
    all_ids, all_labels = [], []
    for _ in range(STEPS):
        batch, labels = ids.clone(), torch.full_like(ids, -100)
        for t in range(ids.shape[0]):
            length = int((ids[t] >= 0).sum())
            for p in range(1, length - 1):
                if draw.random() < 0.3:
                    labels[t, p] = ids[t, p]
                    batch[t, p] = mask_id if draw.random() < 0.8 else draw.randrange(5, 99)
        all_ids.append(batch)
        all_labels.append(labels)
    return torch.cat(all_ids), torch.cat(all_labels)


def groups(model):
    def plain(name):
        return name.endswith(".bias") or "LayerNorm" in name
    named = list(model.named_parameters())
    return [{"params": [p for n, p in named if not plain(n)], "weight_decay": DECAY},
            {"params": [p for n, p in named if plain(n)], "weight_decay": 0.0}]


def signs(count):
    """Rows of 1 and -1: high bits of one linear congruential generator, row after row."""
    drawn, state = [], 1
    for _ in range(PROJECTIONS * count):
        state = (state * 1664525 + 1013904223) % 2**32
        drawn.append(1.0 if state >> 31 else -1.0)
    return torch.tensor(drawn, dtype=torch.float64).reshape(PROJECTIONS, count)


def train(model, ids, labels):
    found = {"loss": [], "norm": []}
    named = dict(model.named_parameters())
    start = {n: p.detach().clone() for n, p in named.items()}
    found.update({"moved." + n: torch.zeros(STEPS, PROJECTIONS, dtype=torch.float64) for n in named})
    optimizer = torch.optim.AdamW(groups(model), lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    texts = ids.shape[0] // STEPS
    for step in range(STEPS):
        rows = slice(step * texts, (step + 1) * texts)
        optimizer.zero_grad()
        loss = model(**inputs(ids[rows]), labels=labels[rows].long()).loss
        loss.backward()
        if step == 0:
            found.update({"grad." + n: p.grad.clone() for n, p in named.items()})
        found["loss"].append(loss.item())
        found["norm"].append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)))
        optimizer.step()
        schedule.step()
        for n, p in named.items():
            found["moved." + n][step] = signs(p.numel()) @ (p.detach() - start[n]).flatten()
    found.update({"after." + n: p.detach() for n, p in named.items()})
    return found


def main(folder):
    model = random_model()
    model.save_pretrained(folder)
    if os.path.exists(f"{folder}/generation_config.json"):  # older versions write one
        os.remove(f"{folder}/generation_config.json")
    os.chmod(f"{folder}/model.safetensors", 0o644)
    tokens = vocabulary(model.config.vocab_size)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as out:
        out.write("".join(token + "\n" for token in tokens))
    ids = pad([[2] + text + [3] for text in TEXTS], -1)
    model.double()
    found = {"ids": ids}
    found.update(forward(model, ids))
    found["train.ids"], found["train.labels"] = masked_batches(ids, 4)
    found.update(train(model, found["train.ids"], found["train.labels"]))
    tensors = {}
    for name, value in found.items():
        if isinstance(value, list):
            tensors[name] = torch.tensor(value, dtype=torch.float64)
        else:
            value = value.float() if value.is_floating_point() else value
            tensors[name] = value.contiguous().clone()
    save_file(tensors, f"{folder}/golden.safetensors", metadata={"format": "pt"})
    os.chmod(f"{folder}/golden.safetensors", 0o644)
    made = {"script": "tests/peers/golden_bert.py", "python": platform.python_version(),
            "torch": torch.__version__, "transformers": transformers.__version__,
            "optimizer": "torch.optim.AdamW, betas .9 and .999, eps 1e-8, get_linear_schedule_with_warmup",
            "steps": STEPS, "warmup": WARMUP, "rate": RATE, "decay": DECAY, "clip": CLIP}
    with open(f"{folder}/golden.json", "w", encoding="utf-8") as out:
        json.dump(made, out, indent=2)
        out.write("\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
