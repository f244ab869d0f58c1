#!/usr/bin/env python3
"""Golden numbers of late interaction by PyLate: golden_late.py FOLDER

Writes into FOLDER a small random ColBERT as PyLate saves it, queries.txt and passages.txt, a text a
line, and golden.safetensors:
  queries, passages   [tokens, width]      vectors of the tokens that take part, text after text
  query_counts, passage_counts  i32 [texts]  how many of each text
  seen                [tokens, width]      of the queries, where [MASK]s are seen (attend)
  scores              [queries, passages]  by MaxSim
Prints the versions. Exit code 77: PyLate is not there."""
import os
import random
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import pylate
    import torch
    import transformers
    from pylate import models, scores
    from safetensors.torch import save_file
except ImportError as missing:
    print(missing)
    sys.exit(77)

WORDS = ["ba", "de", "fi", "go", "hu", "ka", "lo", "mi", "nu", "pe", "ro", "sa", "te", "vu", "zo"]
QUERIES = ["ba de fi", "Go, hu!", "ka", "nu pe ro sa te vu zo ba de fi go hu ka lo mi", "zobade mi lo?"]
PASSAGES = ["ba, de. fi", "hu go: ka lo; mi nu (pe) ro", "sa te vu zo zo zo vu te sa ro pe nu mi lo ka hu go fi de ba",
            "mi", "... !!", "kaba defi - golo"]


def vocabulary():
    marks = list("!(),-.:;?")
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + marks + WORDS + ["##" + w for w in WORDS]


def fill(model, seed):
    """The values come from Python's own generator, which is the same in all versions."""
    draw = random.Random(seed)
    for name, value in sorted(model.named_parameters()):
        ones = 1.0 if "LayerNorm.weight" in name else 0.0
        flat = [ones + 0.15 * draw.gauss(0, 1) for _ in range(value.numel())]
        value.data = torch.tensor(flat, dtype=torch.float32).reshape(value.shape)


def make(folder):
    with tempfile.TemporaryDirectory() as base:
        with open(f"{base}/vocab.txt", "w", encoding="utf-8") as out:
            out.write("".join(token + "\n" for token in vocabulary()))
        config = transformers.BertConfig(vocab_size=len(vocabulary()), hidden_size=16, num_hidden_layers=2,
                                         num_attention_heads=2, intermediate_size=32, max_position_embeddings=24)
        transformers.BertModel(config).save_pretrained(base)
        transformers.BertTokenizerFast(f"{base}/vocab.txt").save_pretrained(base)
        model = models.ColBERT(base, device="cpu", embedding_size=8, query_length=12, document_length=16)
    fill(model, 31)
    model.save(folder)
    readme = f"{folder}/README.md"
    if os.path.exists(readme):
        os.remove(readme)
    return model.eval()


def vectors(model, texts, is_query):
    found = [torch.tensor(v) for v in model.encode(texts, is_query=is_query, show_progress_bar=False)]
    return found, torch.cat(found), torch.tensor([len(v) for v in found], dtype=torch.int32)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    shutil.rmtree(f"{folder}/model", ignore_errors=True)
    model = make(f"{folder}/model")
    for name, texts in (("queries", QUERIES), ("passages", PASSAGES)):
        with open(f"{folder}/{name}.txt", "w", encoding="utf-8") as out:
            out.write("".join(text + "\n" for text in texts))
    queries, all_queries, query_counts = vectors(model, QUERIES, True)
    passages, all_passages, passage_counts = vectors(model, PASSAGES, False)
    longest = max(len(p) for p in passages)
    mask = torch.tensor([[i < len(p) for i in range(longest)] for p in passages])
    padded = torch.stack([torch.nn.functional.pad(p, (0, 0, 0, longest - len(p))) for p in passages])
    table = scores.colbert_scores(torch.stack(queries), padded, documents_mask=mask)
    model.attend_to_expansion_tokens = True
    seen = vectors(model, QUERIES, True)[1]
    save_file({"queries": all_queries, "passages": all_passages, "query_counts": query_counts,
               "passage_counts": passage_counts, "scores": table.contiguous(), "seen": seen},
              f"{folder}/golden.safetensors")
    print(f"PyLate {getattr(pylate, '__version__', '')}, transformers {transformers.__version__}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
