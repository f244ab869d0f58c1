"""What the peers' scripts share: cases from a file of `gabbro bench`, timing, results in its form."""
import json
import sys
import time


def cases(path, parts):
    """(part, case, shape) of the cases of these parts."""
    with open(path, encoding="utf-8") as file:
        for row in json.load(file)["results"]:
            if row["part"] in parts and "not_run" not in row:
                yield row["part"], row["case"], row["shape"]


def measure(run, wait=lambda: None, repeats=20, seconds=5.0, warm_up=2):
    """Wall times of run() in ms, after a warm-up; wait() returns when the device has finished."""
    for _ in range(warm_up):
        run()
    wait()
    times, first = [], time.perf_counter()
    while not times or (len(times) < repeats and time.perf_counter() - first < seconds):
        start = time.perf_counter()
        run()
        wait()
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    return {"runs": len(times),
            "wall_ms": {"median": times[len(times) // 2], "best": times[0],
                        "low": times[len(times) // 4], "high": times[len(times) - 1 - len(times) // 4]}}


class Results:
    """A file of results of one peer, printed as they come."""

    def __init__(self, peer, settings):
        self.head = {"peer": peer, "settings": settings}
        self.rows = []
        print(peer, file=sys.stderr)

    def add(self, part, case, numbers):
        self.rows.append({"part": part, "case": case, **numbers})
        said = numbers.get("not_run") or f'{numbers["wall_ms"]["median"]:.3f} ms'
        print(f"  {part:10} {case:36} {said}", file=sys.stderr, flush=True)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.head, "results": self.rows}, file, indent=1)
            file.write("\n")
