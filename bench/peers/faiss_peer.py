"""The search of `gabbro bench` in faiss: faiss_peer.py CASES.json OUT.json [repeats [seconds]]"""
import sys

import faiss
import numpy

from timing import Results, cases, measure


def main():
    limits = {"repeats": int(sys.argv[3])} if len(sys.argv) > 3 else {}
    if len(sys.argv) > 4:
        limits["seconds"] = float(sys.argv[4])
    results = Results(f"faiss {faiss.__version__}, {faiss.omp_get_max_threads()} threads", limits)
    for part, case, s in cases(sys.argv[1], ["search"]):
        random = numpy.random.default_rng(1)
        passages = random.standard_normal((s["passages"], s["width"]), dtype=numpy.float32)
        queries = random.standard_normal((s["queries"], s["width"]), dtype=numpy.float32)
        index = faiss.IndexFlatIP(s["width"])
        index.add(passages)
        results.add(part, case, measure(lambda i=index, q=queries, k=s["best"]: i.search(q, k),
                                        **limits))
    results.write(sys.argv[2])


main()
