#!/usr/bin/env python3
"""Losses and gradients of pre-training objectives from the papers' equations, in float64 torch:
golden_objectives.py BATCHES FOLDER

BATCHES: what `GABBRO_GOLDEN_EXPORT=BATCHES test_parity_objectives` wrote: of every case NAME.json
(texts with their masks, and what else was drawn) and NAME.safetensors (weights). Writes
objectives.safetensors (gradients, "CASE:PARAMETER") and objectives.json (losses; hash of the batch)
to FOLDER. Written from the papers, not from the C sources; nothing is drawn here."""
import glob
import hashlib
import json
import math
import os
import platform
import sys

import torch
from safetensors.torch import load_file, save_file


class Weights(dict):
    """Parameters by name; rows of matrices are outputs, vectors are matrices of one row."""

    def linear(self, name, x):
        return x @ self[name + ".weight"].T + self[name + ".bias"][0]

    def norm(self, name, x, eps):
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + eps) * self[name + ".weight"][0] + self[name + ".bias"][0]


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def attention(q, k, v, heads, sees):
    """softmax(q k^T / sqrt(d)) v, head by head; a row that sees nothing gets zero."""
    d = q.shape[1] // heads
    out = []
    for h in range(heads):
        at = slice(h * d, (h + 1) * d)
        scores = (q[:, at] @ k[:, at].T / math.sqrt(d)).masked_fill(~sees, -1e300)
        out.append(torch.softmax(scores, -1) * sees @ v[:, at])
    return torch.cat(out, 1)


class Case:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.hash = hashlib.sha256(text.encode()).hexdigest()
        self.s = json.loads(text)
        stored = load_file(path.replace(".json", ".safetensors"))
        self.w = Weights({n: v.double().requires_grad_() for n, v in stored.items()})
        self.name = os.path.basename(path)[:-5]

    # ---- BERT (Devlin et al., 2019) ----

    def norm(self, name, x):
        return self.w.norm(name, x, self.s["eps"])

    def embed(self, ids):
        e = "bert.embeddings."
        x = (self.w[e + "word_embeddings.weight"][ids]
             + self.w[e + "position_embeddings.weight"][:len(ids)]
             + self.w[e + "token_type_embeddings.weight"][0])
        return self.norm(e + "LayerNorm", x)

    def self_attention(self, at, x, sees):
        q, k, v = self.w.linear(at + ".attention.self.qkv", x).chunk(3, 1)
        return self.w.linear(at + ".attention.output.dense", attention(q, k, v, self.s["heads"], sees))

    def feed_forward(self, at, x):
        return self.w.linear(at + ".output.dense", gelu(self.w.linear(at + ".intermediate.dense", x)))

    def layer(self, at, x):
        sees = torch.ones(len(x), len(x), dtype=torch.bool)
        x = self.norm(at + ".attention.output.LayerNorm", x + self.self_attention(at, x, sees))
        return self.norm(at + ".output.LayerNorm", x + self.feed_forward(at, x))

    def encode(self, ids):
        """States of the embeddings and of every layer."""
        states = [self.embed(ids)]
        for n in range(self.s["layers"]):
            states.append(self.layer(f"bert.encoder.layer.{n}", states[-1]))
        return states

    def log_probabilities(self, x):
        t = self.norm("cls.predictions.transform.LayerNorm",
                      gelu(self.w.linear("cls.predictions.transform.dense", x)))
        logits = t @ self.w["bert.embeddings.word_embeddings.weight"].T + self.w["cls.predictions.bias"][0]
        return torch.log_softmax(logits, -1)

    def token_loss(self, streams, targets):
        """Mean cross entropy over [text, place, token]."""
        losses = [-self.log_probabilities(streams[t][p])[token] for t, p, token in targets]
        return torch.stack(losses).mean()

    # ---- objectives; each gives the losses by name, "total" or its only one first ----

    def condenser_parts(self):
        """Gao and Callan, 2021: the head reads the late [CLS] and the middle tokens."""
        late, head = [], []
        for ids in self.s["texts"]:
            states = self.encode(ids)
            late.append(states[-1])
            x = torch.cat([states[-1][:1], states[self.s["skip_from"]][1:]])
            for n in range(self.s["own_layers"]):
                x = self.layer(f"condenser.layer.{n}", x)
            head.append(x)
        return late, self.token_loss(late, self.s["labels"]) + self.token_loss(head, self.s["labels"])

    def condenser(self):
        return {"total": self.condenser_parts()[1]}

    def cocondenser(self):
        """Gao and Callan, 2022, equation 5 with the two spans of a document side by side; one-sided:
        passages against contexts."""
        late, lm = self.condenser_parts()
        h = torch.stack([x[0] for x in late])
        if self.s["one_sided"]:
            scores = h[0::2] @ h[1::2].T
            pairs = -torch.diagonal(torch.log_softmax(scores, 1)).mean()
        else:
            scores = h @ h.T
            pairs = 0
            for i in range(len(h)):
                others = [j for j in range(len(h)) if j != i]
                pairs = pairs - (scores[i, i ^ 1] - torch.logsumexp(scores[i, others], 0)) / len(h)
        return {"total": lm + pairs, "mlm": lm, "contrastive": pairs}

    def encoded(self):
        return [self.encode(ids)[-1] for ids in self.s["texts"]]

    def cotmae(self):
        """Wu et al., 2023: the decoder reads the passage's [CLS] vector and the context's
        embeddings; masked as in the paper, causal as in query-as-context's released models: GPT-2
        layers, the [CLS] vector and the last `window` tokens are seen, every next token is a
        target."""
        states, decoded, targets = self.encoded(), [], []
        for t, ids in enumerate(self.s["decoder_texts"]):
            x = torch.cat([states[t][:1], self.embed(ids)[1:]])
            n = len(ids)
            for layer in range(self.s["own_layers"]):
                at = f"decoder.layer.{layer}"
                if self.s["masked_decoder"]:
                    x = self.layer(at, x)
                    continue
                i, j = torch.arange(n)[:, None], torch.arange(n)[None]
                sees = (j <= i) & ((i - j < self.s["window"]) | (j == 0))
                y = self.norm(at + ".attention.output.LayerNorm", x)
                x = x + self.self_attention(at, y, sees)
                x = x + self.feed_forward(at, self.norm(at + ".output.LayerNorm", x))
            if not self.s["masked_decoder"]:
                x = self.norm("decoder.LayerNorm", x)
                targets += [[t, p, ids[p + 1]] for p in range(n - 1)]
            decoded.append(x)
        targets = self.s["decoder_labels"] if self.s["masked_decoder"] else targets
        return {"total": self.token_loss(states, self.s["labels"]) + self.token_loss(decoded, targets)}

    def enhanced(self):
        """Xiao et al., 2022, section 3.3: queries [CLS] + position, keys and values [CLS, embeddings],
        every row with its own mask; the residual is the query; all but [CLS] and [SEP] are targets."""
        states, decoded, targets = self.encoded(), [], []
        for t, ids in enumerate(self.s["decoder_texts"]):
            n = len(ids)
            sees = torch.zeros(n, n, dtype=torch.bool)
            for row, columns in enumerate(self.s["visible"][t]):
                sees[row, columns] = True
            assert not sees.diagonal().any() and sees[1:, 0].all(), "what a row may see"
            at, cls = "decoder.layer.0", states[t][0]
            q = cls + self.w["bert.embeddings.position_embeddings.weight"][:n]
            kv = torch.cat([cls[None], self.embed(ids)[1:]])
            key, value = self.w.linear(at + ".attention.self.kv", kv).chunk(2, 1)
            found = attention(self.w.linear(at + ".attention.self.query", q), key, value,
                              self.s["heads"], sees)
            x = self.norm(at + ".attention.output.LayerNorm",
                          q + self.w.linear(at + ".attention.output.dense", found))
            decoded.append(self.norm(at + ".output.LayerNorm", x + self.feed_forward(at, x)))
            targets += [[t, p, ids[p]] for p in range(1, n - 1)]
        return {"total": self.token_loss(states, self.s["labels"]) + self.token_loss(decoded, targets)}

    def bow(self):
        """Ma et al., 2024: cross entropy of [CLS] against the set of the unmasked text's tokens;
        the masked-LM head (released), or the product with the embeddings (equations 11 and 12). The
        weight falls along a cosine."""
        states, whole = self.encoded(), [list(ids) for ids in self.s["texts"]]
        for t, place, token in self.s["labels"]:
            whole[t][place] = token
        losses = []
        for x, ids in zip(states, whole):
            if self.s["projection"]:
                logits = x[0] @ self.w["bert.embeddings.word_embeddings.weight"].T
                log_p = torch.log_softmax(logits, -1)
            else:
                log_p = self.log_probabilities(x[0])
            bag = sorted(set(ids) - set(self.s["special_ids"]))
            losses.append(-log_p[bag].mean())
        mlm, loss = self.token_loss(states, self.s["labels"]), torch.stack(losses).mean()
        first, last = self.s["bow_weight"], self.s["bow_weight_final"]
        done = self.s["step"] / (self.s["steps"] - 1)
        weight = last + (first - last) * 0.5 * (1 + math.cos(math.pi * done))
        return {"total": mlm + weight * loss, "mlm": mlm, "bow": loss}

    def costa(self):
        """Ma et al., 2022, equations 3 to 9: the projected text against the means of its spans; all
        other texts and spans of the batch in the denominator; mean over texts."""
        states, s = self.encoded(), self.s
        texts = [torch.tanh(self.w.linear("projector", x[0])) for x in states]
        spans = [states[t][first:first + n].mean(0) for t, first, n in s["spans"]]
        z = torch.stack(texts + spans)
        losses = []
        for i in range(len(texts)):
            scores = z @ z[i] / s["temperature"]
            below = torch.logsumexp(torch.cat([scores[:i], scores[i + 1:]]), 0)
            own = [len(texts) + k for k, span in enumerate(s["spans"]) if span[0] == i]
            losses.append(-(scores[own] - below).mean())
        mlm, groups = self.token_loss(states, s["labels"]), torch.stack(losses).mean()
        return {"total": mlm + s["contrast_weight"] * groups, "mlm": mlm, "contrastive": groups}


def main(batches, folder):
    gradients, cases = {}, {}
    for path in sorted(glob.glob(f"{batches}/*.json")):
        case = Case(path)
        losses = getattr(case, case.s["objective"])()
        losses["total"].backward()
        cases[case.name] = {"batch": case.hash, "losses": {n: v.item() for n, v in losses.items()}}
        for name, value in case.w.items():
            gradient = torch.zeros_like(value) if value.grad is None else value.grad
            gradients[f"{case.name}:{name}"] = gradient.float().contiguous()
    if not cases:
        sys.exit(f"no case in {batches}")
    save_file(gradients, f"{folder}/objectives.safetensors", metadata={"format": "pt"})
    os.chmod(f"{folder}/objectives.safetensors", 0o644)
    made = {"script": "tests/peers/golden_objectives.py", "python": platform.python_version(),
            "torch": torch.__version__, "cases": cases}
    with open(f"{folder}/objectives.json", "w", encoding="utf-8") as out:
        json.dump(made, out, indent=2)
        out.write("\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
