"""The texts of `gabbro bench generate` by transformers: transformers_peer.py CASES.json OUT.json [options]

Models of the same sizes with random weights, as many texts at once, drawn by the same rule; no text ends
early. Here a batch begins when the one before has ended; ours takes the next text as soon as one is done.
"""
import argparse

import torch
import transformers

from timing import Results, cases, measure


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


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--bf16", action="store_true", help="weights in bfloat16")
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    cuda = options.device.startswith("cuda")
    wait = torch.cuda.synchronize if cuda else lambda: None
    where = torch.cuda.get_device_name() if cuda else f"CPU, {torch.get_num_threads()} threads"
    results = Results(f'transformers {transformers.__version__}, torch {torch.__version__} '
                      f'{"bf16" if options.bf16 else "fp32"} on {where}',
                      {"repeats": options.repeats, "seconds": options.seconds})
    for part, case, shape in cases(options.cases, ("generate",)):
        try:
            numbers = measure(generate(shape, options), wait, options.repeats, options.seconds)
        except (RuntimeError, MemoryError) as error:
            numbers = {"not_run": str(error).split("\n", maxsplit=1)[0]}
        results.add(part, case, numbers)
    results.write(options.out)


main()
