#!/usr/bin/env python3
"""Ids and texts by the tokenizers of Hugging Face transformers (the slow ones of T5 and LLaMA): golden_pieces.py FOLDER

    golden_pieces.py FOLDER          write FOLDER/pieces.json; the models in it are read
    golden_pieces.py --compare FOLDER  compare with FOLDER/pieces.json; exits 0 the same, 1 not, 77 where
                                     something is not installed
    golden_pieces.py --train FOLDER  train the models too: t5.model (unigram) and llama.model (BPE with
                                     byte fallback), from sentences made here

pieces.json: for every tokenizer its files, texts (as hex: they may hold broken UTF-8) with their ids,
and ids with their text. A broken byte is U+FFFD, each one.
Needs: pip install transformers==4.57.6 tokenizers==0.22.2 sentencepiece protobuf"""
import codecs
import json
import os
import random
import shutil
import sys
import tempfile

try:
    import google.protobuf  # transformers needs it for tokenizers that are not legacy
    import sentencepiece
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from tokenizer import hostile

codecs.register_error("each", lambda e: ("\ufffd", e.start + 1))

THINGS = ["river", "lake", "mountain", "village", "bridge", "harbour", "forest", "castle", "island",
          "railway", "market", "museum", "garden", "tower", "valley", "glacier"]
DOES = ["lies near", "was built before", "is older than", "is named after", "can be seen from",
        "belongs to", "was drawn beside", "is higher than", "feeds", "freezes later than"]
HOW = ["quietly", "since 1873", "in the north", "for 250 years", "with care", "at night", "again",
       "because of the rain", "(as maps show)", "- they say -", "without doubt", "in part"]
PARTS = ["bel", "mor", "a", "stan", "ri", "vik", "lo", "dun", "er", "gat", "ho", "sel", "en", "mar", "tu", "wick",
         "ton", "is", "bra", "le"]
TEXTS = ["", " ", "  ", "a", " a", "a ", "The river lies near the castle.", "  two  spaces  between ",
         "What is the height of the glacier?", "tab\tand\nline\r\nends", "It's, isn't it ? Yes !",
         "na\u00efve caf\u00e9 \u00fcber \u0441\u043b\u043e\u0432\u043e \u6c34 \U0001f30d", "1234567890 3.14",
         "\ufb01nal \uff21\uff22\uff23 x\u00b2 a\u00a0b", "\u2581under\u2581lines \u2581", "\u2581", " \u2581 ",
         "</s>", "a</s>", "a </s>", "</s> a", "<s>a", "<unk>", "<unk> a", "<pad>a<pad>", "x<0x41>y",
         "<extra_id_0>", "a <extra_id_0> b", "a<extra_id_1>b", " <extra_id_10>\u00a0 <extra_id_2> ",
         "<extra_id_100> <extra_id_99>", "[PAD] a[PAD]b [PAD]", "<extra_id_", "a\0b", "\0", "\u200b", "\ufeffa",
         "e\u0301", "\x85a\x1cb", "<s></s><s> </s>", "user: hello</s>  \n<s>again", "[SEP] word [unk] ##s"]


def train(folder):
    draw = random.Random(7)
    path = os.path.join(folder, "text")
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(3000):
            a, b = draw.sample(THINGS, 2)
            town = "".join(draw.choices(PARTS, k=draw.randint(2, 4))).capitalize()
            line = f"the {a} of {town} {draw.choice(DOES)} the {b} {draw.choice(HOW)}"
            kind = draw.randrange(4)
            line = [line + ".", line.capitalize() + "!", f"Is it true that {line}?",
                    f"1. {line}; the {b}'s {a} isn't {draw.choice(HOW)}, though."][kind]
            out.write(line + "\n")
    rules = os.path.join(folder, "rules")
    with open(rules, "w", encoding="utf-8") as out:  # a small part of NFKC, which would take 240 kB
        for code in range(0x21, 0x7F):
            out.write(f"{code + 0xFEE0:X}\t{code:X}\n")
        out.write("FB01\t66 69\nB2\t32\nA0\t20\n9\t20\nA\t20\nD\t20\n")
    shared = dict(input=path, num_threads=1, minloglevel=2, character_coverage=1.0)
    sentencepiece.SentencePieceTrainer.Train(
        model_prefix=os.path.join(folder, "t5"), model_type="unigram", vocab_size=360, pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, normalization_rule_tsv=rules, **shared)
    sentencepiece.SentencePieceTrainer.Train(
        model_prefix=os.path.join(folder, "llama"), model_type="bpe", vocab_size=600, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
        allow_whitespace_only_pieces=True, **shared)
    for name in ["text", "rules", "t5.vocab", "llama.vocab"]:
        os.remove(os.path.join(folder, name))


def t5(**rules):
    return dict(name="spiece.model", model="pieces/t5.model", config=dict(
        model_type="t5", vocab_size=512, d_model=16, d_kv=4, d_ff=16, num_heads=4, num_layers=1,
        eos_token_id=1, pad_token_id=0, decoder_start_token_id=0), files={"tokenizer_config.json": rules})


def llama(files=None, **rules):
    return dict(name="tokenizer.model", model="pieces/llama.model", config=dict(
        model_type="llama", vocab_size=608, hidden_size=32, intermediate_size=32, num_attention_heads=4,
        num_hidden_layers=1, bos_token_id=1, eos_token_id=2),
        files={"tokenizer_config.json": rules, **(files or {})})


def words():
    """A small T5 over WordPiece."""
    return dict(name="vocab.txt", model="wordpiece.vocab.txt", config=dict(
        model_type="t5", vocab_size=2000, d_model=16, d_kv=4, d_ff=16, num_heads=4, num_layers=1,
        eos_token_id=3, pad_token_id=0), files={"tokenizer_config.json": {"do_lower_case": True}})


LISTED = {str(id): dict(content=text, lstrip=strip, rstrip=strip, normalized=False, single_word=False,
                        special=special)
          for id, text, strip, special in [(0, "<unk>", False, True), (1, "<s>", False, True), (2, "</s>", False, True),
                                           (600, "[PAD]", False, True), (601, "<note>", True, False)]}
TOKENIZERS = {
    "t5": t5(), "t5, not legacy": t5(legacy=False), "t5, 12 sentinels": t5(extra_ids=12),
    "t5, no cleaning": t5(clean_up_tokenization_spaces=False),
    "llama": llama(), "llama, not legacy": llama(legacy=False),
    "llama, not legacy, no space": llama(legacy=False, add_prefix_space=False),
    "llama, added": llama({"added_tokens.json": {"[PAD]": 600}, "special_tokens_map.json": {"pad_token": "[PAD]"}}),
    "llama, listed": llama(added_tokens_decoder=LISTED, pad_token="[PAD]", add_eos_token=True),
    "words": words()}


def answers(name, made, top):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(top, "..", made["model"]), os.path.join(folder, made["name"]))
        for file, content in {**made["files"], "config.json": made["config"]}.items():
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                json.dump(content, out)
        kind = {"t5": transformers.T5Tokenizer, "ll": transformers.LlamaTokenizer}.get(
            name[:2], transformers.BertTokenizerFast)
        # Spaces before punctuation are taken out where a T5's folder is silent, as transformers did before 4.45.
        clean = {"clean_up_tokenization_spaces": made["files"]["tokenizer_config.json"].get("clean_up_tokenization_spaces", True)}
        tokenizer = kind.from_pretrained(folder, **(clean if name[:2] == "t5" else {}))
    end = [made["config"]["eos_token_id"]] if name == "words" else []
    texts = [t.encode() for t in TEXTS] + [hostile(n) for n in range(24)]
    draw = random.Random(len(name))
    parts = ["<extra_id_3>", "</s>", "<s>", "[PAD]", "<note>", " ", "  ", "river", " castle", "\t", "\u2581", "\xa0", "\u732b"]
    texts += ["".join(draw.choices(parts, k=draw.randint(1, 7))).encode() for _ in range(40)]
    encoded, decoded = [], []
    for text in texts:
        ids = tokenizer(text.decode(errors="each"), add_special_tokens=name != "words")["input_ids"]
        if end and ids[-1:] != end:
            ids = ids + end
        encoded.append([text.hex(), ids])
    size = min(len(tokenizer), 32 if name == "words" else 1 << 20)
    lists = [ids for _, ids in encoded[:40]] + [
        [draw.randrange(len(tokenizer)) if draw.random() < .5 else draw.randrange(size) for _ in range(draw.randint(0, 9))] for _ in range(40)]
    for ids in lists:
        decoded.append([ids, tokenizer.decode(ids, skip_special_tokens=True)])
    return {"tokenizer": name, **made, "encoded": encoded, "decoded": decoded}


def compare(top):
    with open(os.path.join(top, "pieces.json"), encoding="utf-8") as file:
        kept = json.load(file)["tokenizers"]
    parted = abs(len(kept) - len(TOKENIZERS))
    for old in kept:
        new = json.loads(json.dumps(answers(old["tokenizer"], TOKENIZERS[old["tokenizer"]], top)))
        parted += sum(a != b for part in ["encoded", "decoded"] for a, b in zip(old[part], new[part]))
    print(f"trust:\tgolden ids and texts of T5's and LLaMA's tokenizers\tmade again by transformers "
          f"{transformers.__version__}, sentencepiece {sentencepiece.__version__} (that differ)\t{parted}\t0")
    return int(parted > 0)


def main():
    top = sys.argv[-1]
    if sys.argv[1] == "--compare":
        return compare(top)
    if sys.argv[1] == "--train":
        train(top)
    versions = f"transformers {transformers.__version__}, sentencepiece {sentencepiece.__version__}"
    lines = [json.dumps(answers(name, made, top), separators=(",", ":")) for name, made in TOKENIZERS.items()]
    with open(os.path.join(top, "pieces.json"), "w", encoding="utf-8") as out:
        out.write(f'{{"made_by": "{versions}, tests/peers/golden_pieces.py",\n"tokenizers": [\n')
        out.write(",\n".join(lines) + "\n]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
