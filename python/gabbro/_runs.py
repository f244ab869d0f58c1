"""Rankings in files, and measures of them."""
import ctypes

from . import _library as lib


class Run(lib.Owned):
    """The rankings of many queries: Run() is empty, Run.read(path) reads TREC's layout and others,
    Run.of({qid: {docid: score}}) takes what BEIR and pytrec_eval have."""

    def __init__(self, handle=None):
        super().__init__(handle or lib.call("gabbro_run_create"), "gabbro_run_close")

    @classmethod
    def read(cls, path):
        return cls(lib.call("gabbro_run_read", lib.path_bytes(path)))

    @classmethod
    def of(cls, rankings):
        run = cls()
        for query, scores in rankings.items():
            run.add(query, sorted(scores.items(), key=lambda item: -item[1]))
        return run

    def add(self, query, hits):
        """Adds the ranking of a query: pairs of id and score, best first; or hits of a Searcher."""
        pairs = [(hit.docid, hit.score) if hasattr(hit, "docid") else hit for hit in hits]
        ids = lib.texts_array([str(name) for name, _ in pairs])
        scores = (ctypes.c_double * len(pairs))(*[score for _, score in pairs])
        lib.call("gabbro_run_add", self.handle, lib.encoded(str(query)), ids, scores, len(pairs))

    def write(self, path, tag=None):
        """Writes it in TREC's layout."""
        lib.call("gabbro_run_write", self.handle, lib.path_bytes(path), lib.path_bytes(tag))

    def __len__(self):
        return lib.library.gabbro_run_queries(self.handle)

    def to_dict(self):
        """{qid: {docid: score}}."""
        length, hits, score = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_double()

        def text(pointer):
            return ctypes.string_at(pointer, length.value).decode("utf-8", "replace")

        rankings = {}
        for q in range(len(self)):
            name = text(lib.library.gabbro_run_query(self.handle, q, ctypes.byref(length),
                                                     ctypes.byref(hits)))
            ranking = rankings.setdefault(name, {})
            for rank in range(hits.value):
                docid = text(lib.library.gabbro_run_hit(self.handle, q, rank, ctypes.byref(length),
                                                        ctypes.byref(score)))
                ranking[docid] = score.value
        return rankings

    def measure(self, qrels, measure, *, level=1, complete=False, per_query=False):
        """Measures it by a file of judgements, as trec_eval does: the mean of a measure such as
        "ndcg_cut_10" or "MRR@10"; with per_query (mean, {qid: value}). level: smallest relevant
        grade. complete: judged queries that the run lacks count 0."""
        if not 1 <= level < 2**31:
            raise ValueError(f"the smallest relevant grade is {level}; it must be from 1 to 2147483647")
        values, mean = {}, ctypes.c_double()

        def take(_, query, length, value):
            values[ctypes.string_at(query, length).decode("utf-8", "replace")] = value

        params = lib.MeasureParams(ctypes.sizeof(lib.MeasureParams), level, complete)
        lib.call("gabbro_measure", self.handle, lib.path_bytes(qrels), lib.encoded(measure),
                 ctypes.byref(params), lib.ValueFunction(take), None, ctypes.byref(mean))
        return (mean.value, values) if per_query else mean.value
