"""What the peers that stand on torch share: options, device, and the run of all cases."""
import argparse

import torch

from timing import Results, cases, measure


def run(doc, peer, parts, flags, settings=None):
    """peer: its name by the options; parts: what makes a case's work from its shape and the options,
    by part; flags: help of the switches; settings: for the results, beside repeats and seconds."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for flag, words in flags.items():
        parser.add_argument(flag, action="store_true", help=words)
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    options.kind = options.device.split(":")[0]
    cuda = options.kind == "cuda"
    wait = torch.cuda.synchronize if cuda else lambda: None
    where = torch.cuda.get_device_name() if cuda else f"CPU, {torch.get_num_threads()} threads"
    results = Results(f'{peer(options)} {"bf16" if options.bf16 else "fp32"} on {where}',
                      {**(settings or {}), "repeats": options.repeats, "seconds": options.seconds})
    for part, case, shape in cases(options.cases, parts):
        try:
            numbers = measure(parts[part](shape, options), wait, options.repeats, options.seconds)
        except (RuntimeError, MemoryError) as error:
            numbers = {"not_run": str(error).split("\n", maxsplit=1)[0]}
        results.add(part, case, numbers)
    results.write(options.out)
