#!/usr/bin/env python3
"""compare.py A B: two safetensors files must have the same tensors; prints the worst difference of
any, relative to its largest value (1 where a whole number differs). Values below 1e-12 are rounding
alone: gradients of parameters on which no loss depends, such as the biases of keys. They and the way
that these biases go are left out."""
import sys

from safetensors.numpy import load_file

a, b = load_file(sys.argv[1]), load_file(sys.argv[2])
if {n: (v.shape, v.dtype) for n, v in a.items()} != {n: (v.shape, v.dtype) for n, v in b.items()}:
    sys.exit("other tensors")
ROUNDING = 1e-12
worst = 0.0
for name, value in a.items():
    if not value.size or name.startswith("moved.") and name.endswith("key.bias"):
        continue
    if max(abs(value).max(), abs(b[name]).max()) < ROUNDING:
        continue
    difference = abs(value.astype("float64") - b[name].astype("float64")).max()
    whole = value.dtype.kind != "f"
    worst = max(worst, float(difference > 0) if whole else difference / (abs(b[name]).max() or 1))
print(f"{worst:.2g}")
