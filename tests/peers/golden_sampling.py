#!/usr/bin/env python3
"""Golden distributions of sampling by Hugging Face transformers: golden_sampling.py FOLDER

For each model folder that golden_language.py wrote (t5, t5v11, llama), beside it sampling.safetensors:
  ids            i32 [prompts, longest]  input of every prompt, -1 behind its end
  SETTING.first  [prompts, V]            probabilities of the first token
  SETTING.second [prompts, V + 1]        and of the second one; column V: the first was the end
with the settings of both papers (t5, llm) and of neither (other). What temperature, top k and top p
make of the logits, and in which order, is transformers' own list of processors; all in float64."""
import os
import sys

import torch
import transformers
from safetensors.torch import save_file

PROMPTS = [[2 + (p * 17 + i * 7) % 58 for i in range(1 + p * 5 % 9)] for p in range(20)]
SETTINGS = {"t5": (1.0, 25, 0.95), "llm": (0.7, 50, 0.95), "other": (1.6, 12, 0.8)}


def warped(model, warper, ids, decoded):
    if model.config.is_encoder_decoder:
        logits = model(input_ids=ids, decoder_input_ids=decoded, use_cache=False).logits
    else:
        logits = model(input_ids=torch.cat([ids, decoded], dim=1)).logits
    return torch.softmax(warper(None, logits[:, -1].double()), dim=-1)[0]


def warper_of(temperature, top_k, top_p):
    """What generate() makes of these settings, in its order, whatever a version calls it."""
    wanted = [(temperature != 1, transformers.TemperatureLogitsWarper, temperature),
              (top_k != 0, transformers.TopKLogitsWarper, top_k), (top_p < 1, transformers.TopPLogitsWarper, top_p)]
    return transformers.LogitsProcessorList([kind(value) for needed, kind, value in wanted if needed])


def distributions(model, warper, ids):
    size = model.config.vocab_size
    start = [[model.config.decoder_start_token_id]] if model.config.is_encoder_decoder else [[]]
    start = torch.tensor(start, dtype=torch.int64)
    first = warped(model, warper, ids, start)
    second = torch.zeros(size + 1, dtype=torch.float64)
    for token in torch.nonzero(first)[:, 0].tolist():
        if token == model.config.eos_token_id:
            second[size] += first[token]
            continue
        decoded = torch.cat([start, torch.tensor([[token]])], dim=1)
        second[:size] += first[token] * warped(model, warper, ids, decoded)
    return first, second


def main():
    torch.set_grad_enabled(False)
    longest = max(len(p) for p in PROMPTS)
    ids = torch.tensor([p + [-1] * (longest - len(p)) for p in PROMPTS], dtype=torch.int32)
    for name in ("t5", "t5v11", "llama"):
        folder = os.path.join(sys.argv[1], name)
        model = transformers.AutoModelForSeq2SeqLM if name != "llama" else transformers.AutoModelForCausalLM
        model = model.from_pretrained(folder).double().eval()
        out = {"ids": ids}
        for setting, (temperature, top_k, top_p) in SETTINGS.items():
            warper = warper_of(temperature, top_k, top_p)
            both = [distributions(model, warper, torch.tensor([p])) for p in PROMPTS]
            out[setting + ".first"] = torch.stack([b[0] for b in both]).float().contiguous()
            out[setting + ".second"] = torch.stack([b[1] for b in both]).float().contiguous()
        save_file(out, os.path.join(folder, "sampling.safetensors"))


if __name__ == "__main__":
    main()
