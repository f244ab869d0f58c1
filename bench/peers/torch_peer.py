"""The work of `gabbro bench` in PyTorch: torch_peer.py CASES.json OUT.json [options]

CASES.json is what `gabbro bench --json` wrote. Texts are all equally long, as they are there, so no
padding is computed. Batches are drawn once, the masks of enhanced decoding too: ours are drawn anew for
every step.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

from torch_run import run

FUSED_ATTENTION = hasattr(F, "scaled_dot_product_attention")


def attention(q, k, v, seen=None):
    """[texts, heads, length, head_dim]; seen [texts, 1, length, length]: what a row looks at"""
    if FUSED_ATTENTION:
        return F.scaled_dot_product_attention(q, k, v, seen)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    return scores.softmax(-1) @ v


class Layer(nn.Module):
    """A post-norm layer of BERT."""

    def __init__(self, s):
        super().__init__()
        h = s["hidden"]
        self.heads = s["heads"]
        self.qkv, self.out = nn.Linear(h, 3 * h), nn.Linear(h, h)
        self.up, self.down = nn.Linear(h, s["ffn"]), nn.Linear(s["ffn"], h)
        self.norm1, self.norm2 = nn.LayerNorm(h, 1e-12), nn.LayerNorm(h, 1e-12)
        self.dropout = nn.Dropout(s.get("dropout", 0))

    def forward(self, x, states=None, seen=None):
        """states: what keys and values are made of, if not x."""
        texts, length, h = x.shape
        if states is None:
            projected = self.qkv(x).split(h, -1)
        else:
            weights, biases = self.qkv.weight.split([h, 2 * h]), self.qkv.bias.split([h, 2 * h])
            projected = (F.linear(x, weights[0], biases[0]),
                         *F.linear(states, weights[1], biases[1]).split(h, -1))
        q, k, v = (t.view(texts, length, self.heads, -1).transpose(1, 2) for t in projected)
        y = attention(q, k, v, seen).transpose(1, 2).reshape(texts, length, h)
        x = self.norm1(x + self.dropout(self.out(y)))
        return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    """Encoder with a tied masked-LM head, and layers of a Condenser head or a decoder."""

    def __init__(self, s, head_layers=0):
        super().__init__()
        h = s["hidden"]
        self.word = nn.Embedding(s["vocabulary"], h)
        self.position = nn.Embedding(max(s["longest"], s.get("query_tokens", 0)), h)
        self.token_type = nn.Embedding(2, h)
        self.norm, self.dropout = nn.LayerNorm(h, 1e-12), nn.Dropout(s.get("dropout", 0))
        self.layers = nn.ModuleList(Layer(s) for _ in range(s["layers"]))
        self.head = nn.ModuleList(Layer(s) for _ in range(head_layers))
        self.transform, self.head_norm = nn.Linear(h, h), nn.LayerNorm(h, 1e-12)
        self.bias = nn.Parameter(torch.zeros(s["vocabulary"]))

    def embed(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(self.norm(self.word(ids) + self.position(places) +
                                      self.token_type.weight[0]))

    def forward(self, ids):
        """States of the last layer, and of the middle one."""
        x = middle = self.embed(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i + 1 == len(self.layers) // 2:
                middle = x
        return x, middle

    def logits(self, x):
        x = self.head_norm(F.gelu(self.transform(x)))
        return F.linear(x, self.word.weight, self.bias)


class Step:
    """A training step of an objective."""

    def __init__(self, s, options):
        self.s, self.options = s, options
        objective, device = s["objective"], options.device
        head_layers = {"cocondenser": 2 if s["layers"] > 2 else 1, "cotmae": 1, "enhanced": 1}
        self.model = Bert(s, head_layers.get(objective, 0))
        self.decoder_norm = nn.LayerNorm(s["hidden"], 1e-12).to(device)
        self.model.to(device).train()
        self.run_model = torch.compile(self.model) if options.compile else self.model
        self.optimiser = torch.optim.AdamW(self.model.parameters(), 1e-5)
        pairs = 2 if objective == "cocondenser" else 1
        texts = s["texts"] * pairs
        if objective == "finetune":
            self.queries = self.ids(s["texts"], s["query_tokens"])
            texts = s["texts"] * (1 + s["negatives"])
        self.passages = self.ids(texts, s["longest"])
        self.contexts = self.ids(texts, s["longest"])
        length = s["longest"]
        self.causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        if objective == "enhanced":
            seen = torch.rand(texts, 1, length, length, device=device) > .5
            self.seen = seen & ~torch.eye(length, dtype=torch.bool, device=device)
            self.seen[..., 0] = True
        self.masked = torch.randperm(self.passages.numel(), device=device)
        self.masked = self.masked[:int(s["mask_ratio"] * self.passages.numel())]

    def ids(self, texts, length):
        return torch.randint(5, self.s["vocabulary"], (texts, length), device=self.options.device)

    def masked_lm(self, states):
        logits = self.model.logits(states.flatten(0, 1)[self.masked])
        return F.cross_entropy(logits, self.passages.flatten()[self.masked])

    def tokens_loss(self, states, ids):
        return F.cross_entropy(self.model.logits(states.flatten(0, 1)), ids.flatten())

    def loss(self):
        states, middle = self.run_model(self.passages)
        cls = states[:, 0]
        if self.s["objective"] == "finetune":
            queries = self.run_model(self.queries)[0][:, 0]
            targets = torch.arange(len(queries), device=cls.device) * (1 + self.s["negatives"])
            return F.cross_entropy(queries @ cls.T, targets)
        loss = self.masked_lm(states)
        if self.s["objective"] == "cotmae":
            x = torch.cat([cls[:, None], self.model.embed(self.contexts)[:, 1:]], 1)
            for layer in self.model.head:
                x = layer(x, seen=self.causal)
            loss = loss + self.tokens_loss(self.decoder_norm(x)[:, :-1], self.contexts[:, 1:])
        if self.s["objective"] == "enhanced":
            keys = torch.cat([cls[:, None], self.model.embed(self.passages)[:, 1:]], 1)
            queries = cls[:, None] + self.model.position.weight[:keys.shape[1]]
            x = self.model.head[0](queries, keys, self.seen)
            loss = loss + self.tokens_loss(x[:, 1:-1], self.passages[:, 1:-1])
        if self.s["objective"] == "cocondenser":
            x = torch.cat([cls[:, None], middle[:, 1:]], 1)
            for layer in self.model.head:
                x = layer(x)
            scores = (cls @ cls.T).fill_diagonal_(-math.inf)
            other = torch.arange(len(cls), device=cls.device) ^ 1
            loss = loss + self.masked_lm(x) + F.cross_entropy(scores, other)
        if self.s["objective"] == "bow":
            rows = self.model.logits(cls).log_softmax(-1)
            loss = loss - rows.gather(1, self.passages).mean()
        return loss

    def __call__(self):
        with torch.autocast(self.options.kind, torch.bfloat16, self.options.bf16):
            loss = self.loss()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)


def matmul(s, options):
    a = torch.randn((s["k"], s["m"]) if s["form"] == "TN" else (s["m"], s["k"]), device=options.device)
    b = torch.randn((s["n"], s["k"]) if s["form"] == "NT" else (s["k"], s["n"]), device=options.device)
    if s.get("precision") == "fp16":
        a, b = a.half(), b.half()
    elif options.bf16:
        a, b = a.bfloat16(), b.bfloat16()
    a, b = (a.T if s["form"] == "TN" else a), (b.T if s["form"] == "NT" else b)
    return lambda: a @ b


def attend(s, options):
    shape = (s["texts"], s["heads"], s["length"], s["width"] // s["heads"])
    q, k, v = (torch.randn(shape, device=options.device, requires_grad=s["gradient"])
               for _ in range(3))
    dy = torch.randn(shape, device=options.device)

    def run():
        with torch.autocast(options.kind, torch.bfloat16, options.bf16):
            y = attention(q, k, v)
        if s["gradient"]:
            torch.autograd.grad(y, (q, k, v), dy.to(y.dtype))
    return run


def bandwidth(s, options):
    x = torch.ones(s["rows"], s["cols"], device=options.device, requires_grad=s["work"] != "copy")
    if s["work"] == "copy":
        y = torch.empty_like(x)
        return lambda: torch.mul(x, 2, out=y)
    if s["work"] == "adamw":
        optimiser = torch.optim.AdamW([x], 1e-4)
        x.grad = torch.ones_like(x)

        def update():
            nn.utils.clip_grad_norm_([x], 1)
            optimiser.step()
        return update
    norm = nn.LayerNorm(s["cols"], 1e-12).to(options.device)
    if s["work"] == "layer_norm":
        return torch.no_grad()(lambda: norm(x))
    return lambda: torch.autograd.grad(norm(x), (x, norm.weight, norm.bias), x)


def loss(s, options):
    h = torch.randn(s["rows"], s["width"], device=options.device, requires_grad=True)
    table = torch.randn(s["cols"], s["width"], device=options.device, requires_grad=True)
    bias = torch.zeros(s["cols"], device=options.device, requires_grad=True)
    labels = torch.randint(s["cols"], (s["rows"], 64), device=options.device)
    contrastive = s["loss"] == "contrastive"

    def run():
        with torch.autocast(options.kind, torch.bfloat16, options.bf16):
            logits = h @ table.T if contrastive else F.linear(h, table, bias)
            if s["loss"] == "bag_of_words":
                value = -logits.log_softmax(-1).gather(1, labels).mean()
            else:
                value = F.cross_entropy(logits, labels[:, 0])
        torch.autograd.grad(value, (h, table) if contrastive else (h, table, bias))
    return run


def encode(s, options):
    model = Bert(s).to(options.device).eval()
    forward = torch.compile(model) if options.compile else model
    ids = torch.randint(5, s["vocabulary"], (s["texts"], s["longest"]))

    @torch.no_grad()
    def run():
        with torch.autocast(options.kind, torch.bfloat16, options.bf16):
            return [forward(batch.to(options.device))[0][:, 0].float().cpu()
                    for batch in ids.split(128)]
    return run


def search(s, options):
    """The passages are on the device before the clock starts; ours come from the host."""
    queries = torch.randn(s["queries"], s["width"], device=options.device)
    passages = torch.randn(s["passages"], s["width"], device=options.device)
    block = 65536

    def run():
        best = None
        for first in range(0, len(passages), block):
            scores = queries @ passages[first:first + block].T
            found = scores.topk(min(s["best"], scores.shape[1]), -1)
            values, rows = found.values, found.indices + first
            if best:
                values, rows = torch.cat([best[0], values], 1), torch.cat([best[1], rows], 1)
                values, order = values.topk(s["best"], -1)
                rows = rows.gather(1, order)
            best = values, rows
        return best[0].cpu(), best[1].cpu()
    return run


PARTS = {"matmul": matmul, "attention": attend, "bandwidth": bandwidth, "loss": loss,
         "step": Step, "encode": encode, "search": search}


run(__doc__, lambda options: f'torch {torch.__version__} {"compiled" if options.compile else "eager"}',
    PARTS, {"--compile": "models through torch.compile", "--bf16": "bfloat16: operands, or autocast"},
    {"fused_attention": FUSED_ATTENTION})
