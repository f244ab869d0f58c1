"""GGUF files of gabbro convert-model: read by the package gguf, key by key and tensor by tensor, and
computed by llama.cpp (in the wheels of cyllama), whose vectors are compared with those of gabbro embed.

    gguf_file.py GABBRO MODEL FOLDER      MODEL: a folder of a BERT with uncased WordPiece

Prints `trust:` lines: 1 - the least cosine over all texts. Status 77: a package is missing.
Needs: pip install gguf cyllama safetensors numpy (wheels)."""
import json
import pathlib
import subprocess
import sys

try:
    import gguf
    import numpy
    import safetensors.numpy
    from cyllama.llama import llama_cpp
except ImportError as missing:
    print("skipped: needs pip install gguf cyllama safetensors:", missing)
    sys.exit(77)

TEXTS = ["What is gabbro?", "Gabbro is a dark, coarse-grained rock (plutonic); basalt is its twin.", "naïve Müller CAFÉ",
         "岩石 and ice", "unbelievably 3.14 x-ray's e-mail@example.org", "rain " * 30, "a"]
POOLING = {1: "mean", 2: "cls", 3: "last"}


def fail(what):
    print("gguf_file.py:", what)
    sys.exit(1)


def check_file(path, model, half):
    """Keys against config.json, tensors against model.safetensors. Returns the pooling."""
    reader = gguf.GGUFReader(path)
    config = json.loads((model / "config.json").read_text())
    value = {name: field.contents() for name, field in reader.fields.items()}
    for name, wanted in {"general.architecture": "bert", "bert.block_count": config["num_hidden_layers"],
                         "bert.context_length": config["max_position_embeddings"],
                         "bert.embedding_length": config["hidden_size"],
                         "bert.feed_forward_length": config["intermediate_size"],
                         "bert.attention.head_count": config["num_attention_heads"], "bert.attention.causal": False,
                         "tokenizer.ggml.model": "bert"}.items():
        if value.get(name) != wanted:
            fail(f"{name} is {value.get(name)!r}, not {wanted!r}")
    if abs(value["bert.attention.layer_norm_epsilon"] / config["layer_norm_eps"] - 1) > 1e-6:
        fail("layer_norm_epsilon")
    lines = (model / "vocab.txt").read_text(encoding="utf-8").split("\n")
    for line, token in zip(lines, value["tokenizer.ggml.tokens"]):
        special = line.startswith("[") and line.endswith("]") and len(line) > 1
        if token != (line if special else line[2:] if line.startswith("##") else "\u2581" + line):
            fail(f"token {token!r} of {line!r}")
    if len(value["tokenizer.ggml.tokens"]) != config["vocab_size"] != len(value["tokenizer.ggml.token_type"]):
        fail("the number of tokens")
    stored = {name.removeprefix("bert."): tensor
              for name, tensor in safetensors.numpy.load_file(model / "model.safetensors").items()}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, config["num_hidden_layers"])
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    met = 0
    for name, wanted in stored.items():
        own = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if own not in tensors:
            continue
        met += 1
        given = tensors[own].data.astype(numpy.float32)
        rounded = tensors[own].tensor_type == gguf.GGMLQuantizationType.F16
        wanted = wanted.astype(numpy.float16).astype(numpy.float32) if rounded else wanted.astype(numpy.float32)
        if given.shape != wanted.shape or not numpy.array_equal(given, wanted):
            fail(f"tensor {own} is not {name}")
    if met != len(tensors) or met != 5 + 16 * config["num_hidden_layers"]:
        fail(f"{met} tensors of {len(tensors)} are the model's")
    if half != any(t.tensor_type == gguf.GGMLQuantizationType.F16 for t in reader.tensors):
        fail("the type of matrices")
    return POOLING[value["bert.pooling_type"]]


def context_of(model, pooling):
    params = llama_cpp.LlamaContextParams()
    params.n_ctx = params.n_batch = params.n_ubatch = 512
    params.pooling_type = pooling
    context = llama_cpp.LlamaContext(model, params)
    context.set_embeddings_mode(True)
    return context


def llama_vectors(path, pooling, texts, limit):
    params = llama_cpp.LlamaModelParams()
    params.n_gpu_layers = 0
    model = llama_cpp.LlamaModel(str(path), params)
    if POOLING.get(int(context_of(model, -1).pooling_type)) != pooling:
        fail("llama.cpp takes another pooling than the file says")
    context, vocab, vectors = context_of(model, 0), model.get_vocab(), []
    for text in texts:
        tokens = vocab.tokenize(text, add_special=True, parse_special=False)
        tokens = tokens if len(tokens) <= limit else tokens[:limit - 1] + tokens[-1:]
        context.kv_cache_clear()
        batch = llama_cpp.LlamaBatch(n_tokens=len(tokens), embd=0, n_seq_max=1)
        for place, token in enumerate(tokens):
            batch.add(token, place, [0], True)
        context.decode(batch)
        states = numpy.array([context.get_embeddings_ith(i) for i in range(len(tokens))], dtype=numpy.float64)
        vectors.append({"mean": states.mean(0), "cls": states[0], "last": states[-1]}[pooling])
    return numpy.stack(vectors)


def main(gabbro, model, folder):
    model, folder = pathlib.Path(model), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    llama_cpp.disable_logging()
    words = [w for w in (model / "vocab.txt").read_text(encoding="utf-8").split("\n") if w.isalpha() and w.isascii()]
    texts = TEXTS + [" ".join(words[(i * i + 7 * k * (i + 1)) % len(words)] for k in range(1 + i % 23)) for i in range(40)]
    (folder / "texts").write_text("\n".join(texts) + "\n", encoding="utf-8")
    subprocess.run([gabbro, "embed", str(model), str(folder / "texts"), "--out", str(folder / "ours.npy"), "--quiet"], check=True)
    ours = numpy.load(folder / "ours.npy").astype(numpy.float64)
    sentence = model / "sentence_bert_config.json"
    limit = json.loads((model / "config.json").read_text())["max_position_embeddings"]
    if sentence.exists():
        limit = min(limit, json.loads(sentence.read_text())["max_seq_length"])
    for numbers, bound in (("float32", 1e-4), ("float16", 1e-3)):
        path = folder / f"{numbers}.gguf"
        subprocess.run([gabbro, "convert-model", str(model), "--to", str(path), "--numbers", numbers], check=True)
        pooling = check_file(path, model, numbers == "float16")
        theirs = llama_vectors(path, pooling, texts, limit)
        cosines = (ours * theirs).sum(1) / numpy.linalg.norm(ours, axis=1) / numpy.linalg.norm(theirs, axis=1)
        print(f"trust:\tGGUF of {model.name}, {numbers}: 1 - cosine of vectors\tllama.cpp\t{max(0, 1 - cosines.min()):.2g}\t{bound:g}")
        if not cosines.min() >= 1 - bound:
            fail(f"{numbers}: text {int(cosines.argmin())} has the cosine {cosines.min():.6f}")


main(*sys.argv[1:4])
