"""Vectors of texts."""
import ctypes
import json
import pathlib

import numpy

from . import _library as lib

_KINDS = {"passage": 0, "query": 1, "plain": 2}
_NAMED = {"query": "query", "document": "passage", "passage": "passage", "corpus": "passage"}
_AT_ONCE = 256  # texts of a call: between two calls Python can be interrupted


class _ModelCard:
    """What sentence-transformers' evaluators write their results to; nothing is kept."""

    def set_evaluation_metrics(self, *arguments, **named):
        pass


def _flat(inputs):
    """The texts of what evaluators hand over: a text, texts, dicts, or batches of dicts."""
    if isinstance(inputs, str):
        return [inputs]
    if isinstance(inputs, dict):  # whose keys would be taken for texts
        raise TypeError("a list of dicts is needed, not a single one")
    texts = []
    for item in inputs:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict) and not isinstance(item.get("text"), str):
            texts.extend(item["text"])  # a batch of MTEB's
        elif isinstance(item, dict):
            texts.append(passage_text(item))
        else:
            raise TypeError(f"a text is a str, not {type(item).__name__}")
    return texts


def _read(path):
    """A JSON file, or {} where there is none."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _folder_of(path):
    """The model's folder of an artifact, or of a model."""
    return path / "model" if (path / "model").is_dir() else path


def _leaves_prompts_out(folder):
    """Whether the folder says that the tokens of prompts are no part of the mean."""
    poolings = [module.get("path", "") for module in _read(folder / "modules.json") or []
                if module.get("type", "").endswith(".Pooling")]
    return any(_read(folder / path / "config.json").get("include_prompt") is False
               for path in poolings)


def _number_of(kind):
    if kind not in _KINDS:
        raise ValueError(f"there is no kind {kind!r}: take one of " + ", ".join(_KINDS))
    return _KINDS[kind]


def _scaled(vectors):
    """Vectors of length 1, arrays or tensors."""
    length = (vectors * vectors).sum(-1) ** .5
    return vectors / length.clip(1e-12)[..., None]


def passage_text(passage):
    """Title and text of a passage, as BEIR and gabbro join them."""
    if isinstance(passage, str):
        return passage
    return (passage.get("title") or "") + (" " if passage.get("title") else "") + passage["text"]


class Encoder(lib.Owned):
    """A model that makes vectors of texts.

    model: a folder as Hugging Face's tools write it, an artifact of gabbro's store, or the name of a
    model in Hugging Face's cache; nothing is downloaded. device: index, part of a name, UUID or
    "cpu" (default: the best). pooling: "cls", "mean" or "last" (default: as the model's folder says).
    compare: vectors are for an index, and of length 1 if the folder says that they are compared by the
    cosine; otherwise they are those of sentence-transformers' encode().

    sentence-transformers' evaluators, BEIR and MTEB take it as a model. Threads may share it."""

    def __init__(self, model, device=None, pooling=None, compare=False):
        self._arguments = (str(model), device, pooling, compare)
        params = lib.ModelParams(ctypes.sizeof(lib.ModelParams), lib.device_bytes(device),
                                 lib.path_bytes(pooling), 0, compare)
        super().__init__(lib.call("gabbro_model_open", lib.path_bytes(model), ctypes.byref(params)),
                         "gabbro_model_close")
        self.model_card_data = _ModelCard()
        folder = _folder_of(pathlib.Path(self.path))
        said = _read(folder / "config_sentence_transformers.json")
        self.similarity_fn_name = said.get("similarity_fn_name") or "cosine"  # as sentence-transformers
        self._prompts = said.get("prompts") or {}
        self._default_prompt = said.get("default_prompt_name")
        self._leaves_out = pooling is None and _leaves_prompts_out(folder)

    def __reduce_ex__(self, protocol):  # to another process: it is opened there again
        return type(self), self._arguments

    def __repr__(self):
        return f"gabbro.Encoder({self._arguments[0]!r})"

    @property
    def path(self):
        """The folder of the model."""
        return lib.library.gabbro_model_path(self.handle).decode("utf-8", "surrogateescape")

    @property
    def width(self):
        """Numbers of a vector."""
        return lib.library.gabbro_model_width(self.handle)

    @property
    def max_tokens(self):
        """Tokens of a text at most; longer texts are cut."""
        return lib.library.gabbro_model_max_tokens(self.handle)

    @property
    def pooling(self):
        """How a vector is made of the states of a text's tokens: "cls", "mean" or "last"; None of a
        cross-encoder."""
        word = lib.library.gabbro_model_pooling(self.handle)
        return word and word.decode()

    def encode_texts(self, texts, kind="plain"):
        """Vectors [texts, width], float32, of a list of texts. kind: "query" and "passage" put the
        model's prompts before them, "plain" nothing."""
        texts, which = lib.texts_of(texts), _number_of(kind)
        vectors = numpy.empty((len(texts), self.width), numpy.float32)
        for first in range(0, len(texts), _AT_ONCE):
            some = lib.texts_array(texts[first:first + _AT_ONCE])
            lib.call("gabbro_encode", self.handle, which, some, len(some),
                     vectors[first:].ctypes.data)
        return vectors

    def count_tokens(self, texts, kind="plain"):
        """Tokens of each text, special ones included, before it is cut: an array [texts]."""
        texts = lib.texts_of(texts)
        counts = numpy.empty(len(texts), numpy.uint32)
        lib.call("gabbro_count_tokens", self.handle, _number_of(kind), lib.texts_array(texts),
                 len(texts), counts.ctypes.data)
        return counts

    def score(self, pairs):
        """Scores of pairs (query, passage): an array [pairs], float32: inner products, or cosines if
        the model's folder says so. A cross-encoder's are logits; it makes no vectors."""
        pairs = [lib.texts_of(pair) for pair in pairs]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("a pair is of a query and a passage")
        scores = numpy.empty(len(pairs), numpy.float32)
        lib.call("gabbro_score", self.handle, lib.texts_array([pair[0] for pair in pairs]),
                 lib.texts_array([pair[1] for pair in pairs]), len(pairs), scores.ctypes.data)
        return scores

    # ---- as sentence-transformers' ----

    def _prompt_of(self, kind):
        """What the library puts before texts of a kind: include/gabbro/folder.h has the order."""
        names = [name for name, of in _NAMED.items() if of == kind] + [self._default_prompt]
        return next((self._prompts[name] for name in names if self._prompts.get(name) is not None), "")

    def _kind_of(self, name):
        """The kind that stands for a prompt's name, and the text to put before where none does."""
        if name is None:
            return "plain", ""
        kind, text = _NAMED.get(name), self._prompts.get(name)
        if text is None and not kind:
            raise ValueError(f"{self.path} has no prompt {name!r}: take one of "
                             + ", ".join(sorted({*self._prompts, *_NAMED})))
        if kind and text in (None, self._prompt_of(kind)):
            return kind, ""
        if not (text and self._leaves_out and self.pooling == "mean"):
            return "plain", text
        for kind in ("query", "passage"):
            if text == self._prompt_of(kind):
                return kind, ""
        raise ValueError(f"the prompt {name!r} is left out of the mean of tokens, and {self.path} can "
                         "do that only with those of queries and passages: take one of these")

    def encode(self, sentences, kind=None, *, prompt_name=None, prompt_type=None, prompt=None,
               convert_to_tensor=False, normalize_embeddings=False, truncate_dim=None,
               precision="float32", output_value="sentence_embedding", **ignored):
        """Vectors of texts: an array [texts, width], or [width] of a single text. kind as of
        encode_texts; prompt_name ("query", "document", "passage", "corpus") and MTEB's prompt_type
        mean the same, and come first. Another prompt_name is of a prompt in the model's folder:
        ValueError if it has none. Where nothing is said, the folder's default prompt is taken, if it
        has one. Options of sentence-transformers that only say how to compute are accepted, other
        numbers than float32 and other output than vectors of texts are a ValueError."""
        if prompt:
            raise ValueError("prompts are the model's own: say kind or prompt_name")
        if precision not in (None, "float32"):  # None: evaluators that say nothing
            raise ValueError(f"precision {precision!r} is not computed: vectors are \"float32\"; "
                             "gabbro embed --numbers writes others")
        if output_value != "sentence_embedding":
            raise ValueError(f"output_value {output_value!r} is not computed: vectors are of texts, "
                             "\"sentence_embedding\"")
        texts, before = _flat(sentences), ""
        name = getattr(prompt_type, "value", prompt_type) or prompt_name
        if name or kind is None:
            kind, before = self._kind_of(name or self._default_prompt)
        vectors = self.encode_texts([before + text for text in texts] if before else texts, kind)
        truncate_dim = truncate_dim or getattr(self, "truncate_dim", None)
        if truncate_dim:
            vectors = vectors[:, :truncate_dim]
        if normalize_embeddings:
            vectors = vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True),
                                              1e-12)
        if isinstance(sentences, str):
            vectors = vectors[0]
        if convert_to_tensor:
            import torch
            return torch.from_numpy(numpy.ascontiguousarray(vectors))
        return vectors

    def encode_query(self, sentences, **options):
        """encode of queries."""
        return self.encode(sentences, "query", **options)

    def encode_document(self, sentences, **options):
        """encode of passages: texts, or dicts with "text" and perhaps "title"."""
        return self.encode(sentences, "passage", **options)

    @property
    def max_seq_length(self):
        return self.max_tokens

    @property
    def device(self):
        return "cpu"  # where the vectors that it gives are

    def get_sentence_embedding_dimension(self):
        return self.width

    def get_max_seq_length(self):
        return self.max_tokens

    def _to_multiply(self, left, right):
        """The same vectors, whose inner products are similarities."""
        if self.similarity_fn_name == "cosine":
            return _scaled(left), _scaled(right)
        if self.similarity_fn_name != "dot":
            raise ValueError(f"{self.path} compares by {self.similarity_fn_name}, which is not computed")
        return left, right

    def similarity(self, left, right):
        """Similarities [left, right] of arrays or tensors: the cosine, or what the model's folder
        says."""
        left, right = self._to_multiply(left, right)
        return left @ right.T

    def similarity_pairwise(self, left, right):
        """Similarities of left[i] and right[i]."""
        left, right = self._to_multiply(left, right)
        return (left * right).sum(-1)

    # ---- as BEIR's ----

    def encode_queries(self, queries, batch_size=None, **options):
        """encode of queries: texts."""
        return self.encode(list(queries), "query", **options)

    def encode_corpus(self, corpus, batch_size=None, **options):
        """encode of passages: dicts with "title" and "text", or a dict of two such lists."""
        if isinstance(corpus, dict):
            titles = corpus.get("title") or [""] * len(corpus["text"])
            corpus = [{"title": title, "text": text} for title, text in zip(titles, corpus["text"])]
        return self.encode([passage_text(passage) for passage in corpus], "passage", **options)

    # ---- as MTEB's ----

    @property
    def mteb_model_meta(self):
        """How MTEB names the model in its results."""
        from mteb.models import ModelMeta
        name = self.path.rstrip("/").rsplit("/", 1)[-1]
        return ModelMeta.create_empty({"name": f"gabbro/{name}", "revision": "local"})
