#!/usr/bin/env python3
"""Golden numbers of T5 and LLaMA by Hugging Face transformers: golden_language.py FOLDER

Writes the model folders t5 (v1.0), t5v11 (as torch.save does) and llama (in shards), small and random, and beside each
golden.safetensors:
  ids            i32 [texts, longest]  input of every text, -1 behind its end
  decoder.ids    i32 [texts, longest]  T5: input of the decoder
  encoded        [tokens, H]           T5: last states of the encoder, texts one behind the other
  states         [tokens, H]           last states (of the decoder), after the last norm
  logits         [tokens, V]
  greedy         i32 [texts, new]      what generate() appends without sampling, -1 behind its end
All is computed in float64 from float32 weights, one text at a time, so that only the other side
rounds."""
import os
import random
import sys

import torch
import transformers
from safetensors.torch import save_file

NEW = 12
TEXTS = [[5, 9, 31, 40, 12, 60, 7, 1], [3, 1], list(range(4, 44)), [14, 2, 7, 7, 50, 22, 1]]
DECODED = [[0, 8, 8, 19, 4], [0], [0, 33, 12], [0] + list(range(9, 29))]
SHARED = dict(vocab_size=61, pad_token_id=0, eos_token_id=1)


def t5(kind, tied):
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=3, num_heads=3,
        relative_attention_num_buckets=8, relative_attention_max_distance=20, dropout_rate=0.0,
        feed_forward_proj=kind, tie_word_embeddings=tied, decoder_start_token_id=0, **SHARED))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rope_theta=1000.0, rms_norm_eps=1e-5,
        bos_token_id=2, tie_word_embeddings=False, **SHARED))


def randomise(model, seed):
    """The values come from Python's own generator, which is the same in all versions."""
    draw = random.Random(seed)
    for name, value in sorted(model.named_parameters()):
        ones = 1.0 if "norm" in name else 0.0
        flat = [ones + 0.3 * draw.gauss(0, 1) for _ in range(value.numel())]
        value.data = torch.tensor(flat, dtype=torch.float32).reshape(value.shape)
    model.tie_weights()
    return model.eval()


def pad(rows):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [-1] * (longest - len(row)) for row in rows], dtype=torch.int32)


def numbers(model, is_t5):
    parts = {"encoded": [], "states": [], "logits": [], "greedy": []}
    for ids, decoded in zip(TEXTS, DECODED):
        # Version 4.57 sizes the caches of a T5 by the layers of its encoder, which are fewer here.
        given = dict(input_ids=torch.tensor([ids]), output_hidden_states=True, use_cache=False)
        if is_t5:
            out = model(decoder_input_ids=torch.tensor([decoded]), **given)
            parts["encoded"].append(out.encoder_last_hidden_state[0])
            parts["states"].append(out.decoder_hidden_states[-1][0])
        else:
            out = model(**given)
            parts["states"].append(out.hidden_states[-1][0])
        parts["logits"].append(out.logits[0])
        made = model.generate(torch.tensor([ids]), max_new_tokens=NEW, do_sample=False, use_cache=False)[0].tolist()
        parts["greedy"].append(made[1:] if is_t5 else made[len(ids):])
    out = {k: torch.cat(v).to(torch.float32) for k, v in parts.items() if v and k != "greedy"}
    out.update({"ids": pad(TEXTS), "greedy": pad(parts["greedy"])})
    if is_t5:
        out["decoder.ids"] = pad(DECODED)
    print(parts["greedy"])
    return {k: v.contiguous() for k, v in out.items()}


def main():
    torch.set_grad_enabled(False)
    made = {"t5": t5("relu", True), "t5v11": t5("gated-gelu", False), "llama": llama()}
    for seed, (name, model) in enumerate(made.items()):
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        randomise(model, seed).save_pretrained(
            folder, max_shard_size="40KB" if name == "llama" else "1GB", safe_serialization=name != "t5v11")
        save_file(numbers(model.double(), name != "llama"),
                  os.path.join(folder, "golden.safetensors"))


if __name__ == "__main__":
    main()
