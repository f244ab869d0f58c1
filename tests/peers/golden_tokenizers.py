#!/usr/bin/env python3
"""Small tokenizers of the kinds that encoders have, and ids by Hugging Face transformers: golden_tokenizers.py FOLDER

    golden_tokenizers.py FOLDER            write them: FOLDER/NAME/ and FOLDER/cases.jsonl
    golden_tokenizers.py --compare FOLDER  make the ids again with the tokenizers there; exits 0 the same, 1 not,
                                           77 where something is not installed
    golden_tokenizers.py --full FOLDER     the same with sentencepiece's whole table of replacements, for unigram,
                                           and many hostile texts: for the suite of peers

NAME: bytes (RoBERTa's tokenizer.json), merges (the same as vocab.json and merges.txt), plain (ModernBERT's: NFC,
added tokens that are looked for in normalised text), unigram (XLM-RoBERTa's tokenizer.json), pieces (the same as
sentencepiece.bpe.model), split (its older form, with WhitespaceSplit), lowered (small letters without accents, and
added tokens that are themselves normalised, or stand alone), joined (unigram with such added tokens), cased (vocab.txt of a cased BERT), mpnet
(vocab.txt with other special tokens), words (WordPiece as tokenizer.json alone).
cases.jsonl: {"tokenizer", "text", "ids"}, without the special tokens around a text.
Needs: pip install transformers tokenizers sentencepiece protobuf"""
import json
import os
import random
import shutil
import sys
import tempfile

try:
    import google.protobuf  # noqa: F401, transformers needs it for sentencepiece
    import sentencepiece
    import tokenizers
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

THINGS = ["river", "lake", "mountain", "village", "bridge", "harbour", "forest", "castle", "island", "railway"]
DOES = ["lies near", "was built before", "is older than", "isn't", "belongs to", "we'll see beside", "feeds"]
HOW = ["quietly", "since 1873", "in the north", "for 250 years", "(as maps show)", "- they say -", "déjà vu", "Ünder"]
TEXTS = ["", " ", "  ", "a", " a", "a ", "The river lies near the castle.", "  two  spaces   between ",
         "tab\tand\nline\r\nends \n\n x", "It's, isn't it ? WE'LL we'll I'd've", "na\u00efve caf\u00e9 \u00fcber \u0441\u043b\u043e\u0432\u043e \u6c34",
         "1234567890 3.14 x\u00b2 \u2167", "\ufb01nal \uff21\uff22\uff23 a\u00a0b \u3000c", "\u2581under\u2581lines \u2581", "<s>a</s>", "a <mask> b", "x <pad>y",
         "[CLS] a[SEP] [MASK]", "<unk> <mask>", "e\u0301 E\u0301 \u212b", "\U0001f30d\U0001f468\u200d\U0001f469", "a\u200bb\ufeff", "river\u0301", "...!?--", "'s 'S ' s",
         "a    b        c", "[unused0] x[unused0]y", "<s> <s>", "  <mask>  a", "\u4e2d\u6587 \u3042", "LOWER case Case", "\x85a\x1cb\x7f",
         "caf\u00e9 noir CAFE\u0301 NOIR Cafe Noir", "isle isle\u0301 isle_ isle\u0903 isles,isle", "fin \u00fcber \ufb01n \u00dcber",
         "\u0130stanbul \u0131\u0130", "\u0915\u093f\u0902 a\u20dd b\u0903"]


def hostile(draw, count):
    kinds = ["abcdefghij", "  \t\n", "0123.,;'", "\u00e9\u00fc\u0301\u0308", "\u4e2d\u3042\u0436", "<s></mask>", "\u2581\u00a0\u3000", "\U0001f600\u200d",
             "[]CLSEP", "ABC", "\uff21\ufb01\u00bd"]
    return ["".join(draw.choice(draw.choice(kinds)) for _ in range(draw.randint(1, 24))) for _ in range(count)]


def sentences(draw):
    for _ in range(1500):
        a, b = draw.sample(THINGS, 2)
        yield f"{draw.choice(['The', 'the', 'a', 'Its'])} {a} {draw.choice(DOES)} the {b} {draw.choice(HOW)}{draw.choice('.!?')}"


def byte_level(lines, size, specials, **how):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.normalizer = how.get("normalizer")
    made.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return made


def roberta(lines):
    made = byte_level(lines, 330, ["<s>", "<pad>", "</s>", "<unk>"])
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>",
        unk_token="<unk>", mask_token=AddedToken("<mask>", lstrip=True, special=True))


def modern(lines):
    made = byte_level(lines, 320, ["[UNK]", "[CLS]", "[SEP]", "[PAD]"], normalizer=normalizers.NFC())
    made.add_tokens([AddedToken(" " * n, normalized=True) for n in (4, 3, 2)] + [AddedToken("[unused0]", normalized=False)])
    made.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
        mask_token=AddedToken("[MASK]", lstrip=True, special=True))


def added():
    return [AddedToken("Caf\u00e9 Noir", normalized=True), AddedToken("\ufb01n \u00dcber", normalized=True),
            AddedToken("isle", single_word=True, normalized=False)]


def lowered(lines):
    made = byte_level(lines, 300, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], normalizer=normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]))
    made.add_tokens(added())
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>",
        unk_token="<unk>", mask_token="<mask>")


def pieces(lines, folder, full):
    text, rules = os.path.join(folder, "text"), os.path.join(folder, "rules.tsv")
    with open(text, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))
    with open(rules, "w", encoding="utf-8") as out: # a few of NFKC's, in hexadecimal
        for source, target in [("\ufb01", "fi"), ("\uff21", "A"), ("\uff22", "B"), ("\u00a0", " "), ("\u3000", " "), ("\t", " "),
                               ("\n", " "), ("\r", ""), ("\u200b", " "), ("e\u0301", "\u00e9"), ("\u00b2", "2"), ("\u00bd", "1\u20442")]:
            out.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
    how = {"normalization_rule_name": "nmt_nfkc"} if full else {"normalization_rule_tsv": rules}
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=os.path.join(folder, "sp"), vocab_size=80, model_type="unigram", num_threads=1,
        character_coverage=0.98, minloglevel=2, **how)
    return os.path.join(folder, "sp.model")


def words(lines, specials, lower):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=list(dict.fromkeys(specials)), show_progress=False))
    made.decoder = tokenizers.decoders.WordPiece()
    return made


def write_words(made, kind, folder):
    """As kind's own class writes it, without tokenizer.json."""
    vocab = sorted(made.get_vocab().items(), key=lambda item: item[1])
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as out:
        out.write("".join(token + "\n" for token, _ in vocab))
    kind.save_pretrained(folder)
    for name in ("tokenizer.json", "added_tokens.json"):
        if os.path.exists(f"{folder}/{name}"):
            os.remove(f"{folder}/{name}")


def make(folder, full):
    draw = random.Random(11)
    lines = list(sentences(draw))
    with tempfile.TemporaryDirectory() as work:
        made = roberta(lines)
        made.save_pretrained(f"{folder}/bytes")
        os.makedirs(f"{folder}/merges", exist_ok=True)
        made.backend_tokenizer.model.save(f"{folder}/merges")
        with open(f"{folder}/merges/vocab.json", "w", encoding="utf-8") as out:
            json.dump(made.get_vocab(), out, ensure_ascii=False)
        modern(lines).save_pretrained(f"{folder}/plain")
        lowered(lines).save_pretrained(f"{folder}/lowered")
        xlm = transformers.XLMRobertaTokenizerFast(vocab_file=pieces(lines, work, full))
        xlm.save_pretrained(f"{folder}/unigram")
        os.makedirs(f"{folder}/pieces", exist_ok=True)
        os.replace(f"{folder}/unigram/sentencepiece.bpe.model", f"{folder}/pieces/sentencepiece.bpe.model")
        shutil.copytree(f"{folder}/unigram", f"{folder}/split", dirs_exist_ok=True)
        with open(f"{folder}/split/tokenizer.json", encoding="utf-8") as old:
            form = json.load(old)
        form["normalizer"] = form["normalizer"]["normalizers"][0]
        form["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}]}
        with open(f"{folder}/split/tokenizer.json", "w", encoding="utf-8") as out:
            json.dump(form, out, ensure_ascii=False)
        xlm.add_tokens(added())
        xlm.save_pretrained(f"{folder}/joined")
        os.remove(f"{folder}/joined/sentencepiece.bpe.model")
        bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        cased = words(lines, bert, False)
        write_words(cased, transformers.BertTokenizerFast(tokenizer_object=cased, do_lower_case=False), f"{folder}/cased")
        plain = transformers.PreTrainedTokenizerFast(
            tokenizer_object=words(lines, bert, True), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
            unk_token="[UNK]", mask_token="[MASK]")
        plain.backend_tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        plain.save_pretrained(f"{folder}/words")
        other = words(lines, ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"], True)
        write_words(other, transformers.MPNetTokenizerFast(tokenizer_object=other), f"{folder}/mpnet")


def opened(folder, name):
    path = f"{folder}/{name}"
    kinds = {"merges": lambda: transformers.RobertaTokenizerFast(f"{path}/vocab.json", f"{path}/merges.txt"),
             "pieces": lambda: transformers.XLMRobertaTokenizerFast(vocab_file=f"{path}/sentencepiece.bpe.model"),
             "cased": lambda: transformers.BertTokenizerFast.from_pretrained(path),
             "mpnet": lambda: transformers.MPNetTokenizerFast.from_pretrained(path)}
    return kinds[name]() if name in kinds else transformers.PreTrainedTokenizerFast.from_pretrained(path)


def cases(folder, count):
    draw = random.Random(12)
    for name in sorted(os.listdir(folder)):
        if not os.path.isdir(f"{folder}/{name}"):
            continue
        tokenizer = opened(folder, name)
        for text in TEXTS + hostile(draw, count):
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            yield json.dumps({"tokenizer": name, "text": text, "ids": ids})


def main(how, folder):
    if how != "--compare":
        make(folder, how == "--full")
    found = "".join(case + "\n" for case in cases(folder, 400 if how == "--full" else 24))
    path = f"{folder}/cases.jsonl"
    if how == "--compare":
        with open(path, encoding="utf-8") as old:
            return 0 if old.read() == found else 1
    with open(path, "w", encoding="utf-8") as out:
        out.write(found)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1] if len(sys.argv) > 2 else "", sys.argv[-1]))
