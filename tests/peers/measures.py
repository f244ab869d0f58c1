#!/usr/bin/env python3
"""gabbro eval beside trec_eval itself (as pytrec_eval wraps it): random runs with many ties.

    measures.py [GABBRO]    exits 0 the same values, 1 not, 77 pytrec_eval or the program missing

Needs: pip install pytrec-eval-terrier (wheels; the module is called pytrec_eval)."""
import os
import random
import subprocess
import sys
import tempfile

MEASURES = {"map": "map", "recip_rank": "recip_rank", "Rprec": "Rprec", "bpref": "bpref", "ndcg": "ndcg",
            "P": "P.5,10,100", "recall": "recall.5,100", "ndcg_cut": "ndcg_cut.5,10,100",
            "success": "success.1,5,10", "num_ret": "num_ret", "num_rel_ret": "num_rel_ret"}


def trial(draws):
    """Judgements and scores of 30 queries: few different scores, so that most passages tie."""
    qrels, run = {}, {}
    for q in range(30):
        pool = [f"d{draws.randrange(10 ** draws.randrange(1, 5))}" for _ in range(draws.randrange(1, 150))]
        qrels[f"q{q}"] = {d: draws.choice([-1, 0, 0, 0, 1, 1, 2, 3]) for d in pool[:40]}
        run[f"q{q}"] = {d: draws.randrange(draws.choice([2, 8, 100])) / 4 for d in pool}
    return qrels, run


def ours(program, folder, qrels, run, single):
    paths = [os.path.join(folder, name) for name in ("qrels", "run")]
    with open(paths[0], "w") as file:
        file.writelines(f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items())
    with open(paths[1], "w") as file:
        file.writelines(f"{q} Q0 {d} 0 {s!r} t\n" for q, scores in run.items() for d, s in scores.items())
    command = [program, "eval", "-q", "-n"] + ["--float"] * single
    for measure in MEASURES.values():
        command += ["-m", measure]
    out = subprocess.run(command + paths, check=True, capture_output=True, text=True).stdout
    values = {}
    for line in out.splitlines():
        name, query, value = line.split("\t")
        values[query, name.strip()] = float(value)
    return values


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GABBRO", "build/src/cli/gabbro")
    try:
        import pytrec_eval
    except ImportError:
        pytrec_eval = None
    if not pytrec_eval or not os.path.exists(program):
        print("skipped: needs pip install pytrec-eval-terrier and a built gabbro")
        return 77
    worst = compared = 0
    draws = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            qrels, run = trial(draws)
            theirs = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values())).evaluate(run)
            mine = ours(program, folder, qrels, run, number % 2)
            for query, values in theirs.items():
                for name, value in values.items():
                    if (query, name) in mine:
                        worst = max(worst, abs(mine[query, name] - value))
                        compared += 1
    print(f"trust:\t{compared} values by gabbro eval, runs full of ties\tpytrec_eval (trec_eval 9)\t"
          f"{worst:.2g}\t5.1e-05")
    return int(worst > 5.1e-5 or compared < 1000)


if __name__ == "__main__":
    sys.exit(main())
