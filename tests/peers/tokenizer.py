#!/usr/bin/env python3
"""WordPiece ids of Hugging Face tokenizers: 100,000 lines of real text and 5,000 hostile strings.

    tokenizer.py            compare with tests/golden/tokenizer.tsv, which tests/unit/tokens_golden.c
                            compares with ours; exits 0 the same, 1 not, 77 tokenizers or data missing
    tokenizer.py --write    write that file
    tokenizer.py --show N   hostile string N and its ids

Real text is read from the folder GABBRO_TEST_DATA and cut at its spaces into lines of 16 words.
Needs: pip install tokenizers (the golden file was made with the version in its first line)."""
import hashlib
import json
import os
import struct
import sys

LINES, BLOCK, HOSTILE, WORDS = 100_000, 1000, 5000, 16
FILES = ["scifact/corpus.jsonl", "msmarco-sample/collection.tsv", "cacm/corpus.jsonl"]
GOLDEN = os.path.join(os.path.dirname(__file__), "..", "golden", "tokenizer.tsv")

# Ranges of code points that hostile strings are made of; the C side has the same list.
RANGES = [(0x61, 0x7A), (0x20, 0x7E), (0xC0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x481),
          (0x483, 0x489), (0x591, 0x5EA), (0x621, 0x669), (0x901, 0x939), (0xE01, 0xE3A),
          (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x20D0, 0x20F0), (0x2160, 0x2188),
          (0x2600, 0x27BF), (0x3000, 0x30FF), (0x3400, 0x4DB5), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3),
          (0xE000, 0xF8FF), (0xF900, 0xFAD9), (0xFB00, 0xFB06), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F),
          (0xFF01, 0xFFEE), (0xFFF9, 0xFFFF), (0x00, 0x1F), (0x7F, 0x9F), (0x10300, 0x1034A),
          (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x20000, 0x2A6D6), (0x2F800, 0x2FA1D),
          (0xE0001, 0xE007F), (0xE0100, 0xE01EF), (0xF0000, 0xF00FF), (0x10FF00, 0x10FFFF)]
BROKEN = [b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\x80",
          b"\xf4\x90\x80\x80"]


class Draws:
    """Knuth's 64-bit linear congruential generator, its high bits."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound


def hostile(number):
    draws = Draws(number)
    out = b""
    for _ in range(1 + draws.below(12)):
        kind = draws.below(16)
        if kind == 0:
            out += BROKEN[draws.below(len(BROKEN))]
        elif kind == 1:  # about the longest word
            out += chr(0x61 + draws.below(26)).encode() * (96 + draws.below(9))
        elif kind == 2:
            out += b" "
        else:
            low, high = RANGES[draws.below(len(RANGES))]
            for _ in range(1 + draws.below(6)):
                out += chr(low + draws.below(high - low + 1)).encode()
    return out


def real_lines(data):
    for name in FILES:
        with open(os.path.join(data, name), encoding="utf-8", newline="\n") as file:
            for line in file:
                text = json.loads(line)["text"] if name.endswith("l") else line[:-1].split("\t")[1]
                words = text.split(" ")
                for at in range(0, len(words), WORDS):
                    yield " ".join(words[at:at + WORDS]).encode()


def blocks(tokenizer, name, lines):
    hashed, count = hashlib.sha256(), 0
    for line in lines:
        ids = tokenizer.encode(line.decode(errors="replace"), add_special_tokens=False).ids
        hashed.update(struct.pack(f"<{len(ids) + 1}I", *ids, 0xFFFFFFFF))
        count += 1
        if count % BLOCK == 0:
            yield f"{name}\t{count}\t{hashed.hexdigest()[:16]}"
            hashed = hashlib.sha256()
            if count == LINES:
                return


def main():
    data = os.environ.get("GABBRO_TEST_DATA")
    try:
        import tokenizers
    except ImportError:
        tokenizers = None
    if not data or not tokenizers:
        print("skipped: needs GABBRO_TEST_DATA and pip install tokenizers")
        return 77
    tokenizer = tokenizers.BertWordPieceTokenizer(
        os.path.join(data, "bert-base-uncased", "vocab.txt"), lowercase=True)
    if sys.argv[1:2] == ["--show"]:
        text = hostile(int(sys.argv[2]))
        print(text, tokenizer.encode(text.decode(errors="replace"), add_special_tokens=False).ids)
        return 0
    made = [f"# Hugging Face tokenizers {tokenizers.__version__}, tests/peers/tokenizer.py: "
            "lines, number of the last, SHA-256 of the block's ids"]
    made += blocks(tokenizer, "real", real_lines(data))
    made += blocks(tokenizer, "hostile", map(hostile, range(HOSTILE)))
    if sys.argv[1:2] == ["--write"]:
        with open(GOLDEN, "w") as file:
            file.write("\n".join(made) + "\n")
        return 0
    with open(GOLDEN) as file:
        kept = file.read().split("\n")[:-1]
    parted = sum(a != b for a, b in zip(made[1:], kept[1:])) + abs(len(made) - len(kept))
    print(f"trust:\tWordPiece ids of {LINES} real lines and {HOSTILE} hostile strings\t"
          f"Hugging Face tokenizers {tokenizers.__version__} (blocks that differ)\t{parted}\t0")
    return int(parted > 0)


if __name__ == "__main__":
    sys.exit(main())
