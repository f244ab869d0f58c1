"""Search in vectors, and in collections."""
import ctypes
import dataclasses

import numpy

from . import _library as lib
from ._encoder import Encoder


@dataclasses.dataclass(frozen=True)
class Hit:
    """A passage that was found. title and text are None where the index has no texts."""

    docid: str
    score: float
    row: int
    title: str = None
    text: str = None


def _params(device, model, store):
    return lib.IndexParams(ctypes.sizeof(lib.IndexParams), lib.device_bytes(device),
                           model.handle if model else None, lib.path_bytes(store))


class Index(lib.Owned):
    """Vectors that are searched exactly: Index.open(folder), Index.make(model, collection), or
    Index.of(vectors, ids)."""

    def __init__(self, handle, model=None):
        super().__init__(handle, "gabbro_index_close")
        self._model = model  # its device is searched on, so it lives as long

    @property
    def handle(self):
        if self._handle is not None and self._model is not None:
            self._model.handle  # raises where it is closed, and its device with it
        return super().handle

    @classmethod
    def open(cls, folder, device=None, model=None):
        """Opens an index, or any folder with vectors.npy and ids.txt."""
        params = _params(device, model, None)
        return cls(lib.call("gabbro_index_open", lib.path_bytes(folder), ctypes.byref(params)), model)

    @classmethod
    def make(cls, model, collection, store=None):
        """Finds the index of a model and a collection in the store, or makes it: all passages are
        encoded once. collection: a folder or file in any layout that `gabbro collection` imports."""
        params = _params(None, model, store)
        return cls(lib.call("gabbro_index_make", model.handle, lib.path_bytes(collection),
                            ctypes.byref(params)), model)

    @classmethod
    def of(cls, vectors, ids=None, device=None, model=None):
        """An index of vectors [rows, width], which are copied; ids: texts, else the rows' numbers."""
        vectors = numpy.ascontiguousarray(vectors, numpy.float32)
        if vectors.ndim != 2 or (ids is not None and len(ids) != len(vectors)):
            raise ValueError("vectors are [rows, width], with an id each")
        params = _params(device, model, None)
        names = None if ids is None else lib.texts_array([str(name) for name in ids])
        return cls(lib.call("gabbro_index_of", vectors.ctypes.data, vectors.shape[0],
                            vectors.shape[1], names, ctypes.byref(params)), model)

    def __len__(self):
        return lib.library.gabbro_index_rows(self.handle)

    @property
    def width(self):
        """Numbers of a vector."""
        return lib.library.gabbro_index_width(self.handle)

    @property
    def path(self):
        """The folder, or ""."""
        return lib.library.gabbro_index_path(self.handle).decode("utf-8", "surrogateescape")

    def search(self, queries, k=10):
        """The k largest inner products of each query [queries, width]: (scores, rows), both
        [queries, k], falling; row -1 where there are no more."""
        queries = numpy.ascontiguousarray(queries, numpy.float32)
        if queries.ndim != 2:
            raise ValueError("queries are [queries, width]")
        hits = (lib.Hit * (len(queries) * k))()
        lib.call("gabbro_search", self.handle, queries.ctypes.data, len(queries), queries.shape[1], k,
                 hits)
        found = numpy.frombuffer(hits, [("row", numpy.uint32), ("score", numpy.float32)])
        found = found.reshape(len(queries), k)
        rows = found["row"].astype(numpy.int64)
        rows[rows == lib.NO_ROW] = -1
        return found["score"].copy(), rows

    def _row(self, row):
        if not 0 <= row < len(self):
            raise IndexError(row)
        return row

    def id(self, row):
        """The id of a row."""
        length = ctypes.c_size_t()
        text = lib.library.gabbro_index_id(self.handle, self._row(row), ctypes.byref(length))
        return ctypes.string_at(text, length.value).decode("utf-8", "replace")

    def passage(self, row):
        """(title, text) of a row, or (None, None)."""
        title, text = ctypes.POINTER(ctypes.c_char)(), ctypes.POINTER(ctypes.c_char)()
        lengths = ctypes.c_size_t(), ctypes.c_size_t()
        if not lib.library.gabbro_index_passage(self.handle, self._row(row), ctypes.byref(title),
                                                ctypes.byref(lengths[0]), ctypes.byref(text),
                                                ctypes.byref(lengths[1])):
            return None, None
        return tuple(ctypes.string_at(where, length.value).decode("utf-8", "replace")
                     for where, length in zip((title, text), lengths))

    def hit(self, row, score):
        return Hit(self.id(row), float(score), int(row), *self.passage(row))


class Searcher:
    """Finds passages for questions, as Pyserini's searchers do.

    model: an Encoder, opened with compare=True, or what one is made of. collection: what `gabbro
    collection` imports; its index is made once, and kept in the store. index: a folder of an index, in
    the place of a collection."""

    def __init__(self, model, collection=None, *, index=None, device=None, store=None):
        self._owns_model = not isinstance(model, Encoder)
        self.model = Encoder(model, device, compare=True) if self._owns_model else model
        if (collection is None) == (index is None):
            raise ValueError("give a collection or an index")
        self.index = (Index.open(index, model=self.model) if index is not None
                      else Index.make(self.model, collection, store))

    def search(self, question, k=10):
        """The k best passages for a question: a list of Hit, best first."""
        return self.batch_search([question], ["q"], k)["q"]

    def batch_search(self, questions, qids, k=10, threads=None):
        """The same of several questions: {qid: hits}. threads is accepted and not needed."""
        questions, qids = lib.texts_of(questions), list(qids)
        if len(questions) != len(qids):
            raise ValueError(f"{len(questions)} questions have {len(qids)} ids")
        if len(set(qids)) < len(qids):
            raise ValueError("an id is given to two questions")
        scores, rows = self.index.search(self.model.encode_texts(questions, "query"), k)
        return {qid: [self.index.hit(row, score) for row, score in zip(found, of) if row >= 0]
                for qid, of, found in zip(qids, scores, rows)}

    @property
    def num_docs(self):
        return len(self.index)

    def close(self):
        """Closes the index, and the model if it was opened here; an Encoder that was given stays open."""
        self.index.close()
        if self._owns_model:
            self.model.close()
