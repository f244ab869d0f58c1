"""The texts of `gabbro bench generate` by transformers: transformers_peer.py CASES.json OUT.json [options]

Models of the same sizes with random weights, as many texts at once, drawn by the same rule; no text ends
early. Here a batch begins when the one before has ended; ours takes the next text as soon as one is done.
"""
import torch
import transformers

from torch_run import run


def t5(s):
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=s["vocabulary"], d_model=s["hidden"], d_kv=s["hidden"] // s["heads"],
        d_ff=s["ffn"], num_layers=s["layers"], num_decoder_layers=s["layers"],
        num_heads=s["heads"], feed_forward_proj="gated-gelu", tie_word_embeddings=True,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=None))


def llama(s):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=s["vocabulary"], hidden_size=s["hidden"], intermediate_size=s["ffn"],
        num_hidden_layers=s["layers"], num_attention_heads=s["heads"],
        num_key_value_heads=s["heads"], max_position_embeddings=2048, tie_word_embeddings=False,
        pad_token_id=0, eos_token_id=None))


def generate(s, options):
    model = (t5(s) if s["model"] == "T5" else llama(s)).to(options.device).eval()
    if options.bf16:
        model = model.bfloat16()
    model.generation_config.eos_token_id = None
    ids = torch.randint(3, s["vocabulary"], (s["texts"], s["prompt"]), device=options.device)
    how = {"do_sample": True, "temperature": 1.0, "top_k": 25, "top_p": .95,
           "max_new_tokens": s["new"], "min_new_tokens": s["new"]}

    @torch.no_grad()
    def run():
        for batch in ids.split(s["at_once"]):
            made = model.generate(batch, attention_mask=torch.ones_like(batch), **how)
            new = made.shape[1] - (1 if s["model"] == "T5" else s["prompt"])
            assert new == s["new"], f"{new} tokens, not {s['new']}"
    return run


run(__doc__, lambda options: f"transformers {transformers.__version__}, torch {torch.__version__}",
    {"generate": generate}, {"--bf16": "weights in bfloat16"})
