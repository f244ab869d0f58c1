#!/usr/bin/env python3
"""A small file of torch.save with every kind of tensor that checkpoints hold: golden_torch.py FILE

tests/unit/pickle.c knows the values: element i of each tensor is i / 4 (whole types: i), "part" are
the elements 4 to 9 of 0, 1, ... and shares its bytes with "whole"."""
import sys

import torch


def count(shape, dtype):
    values = torch.arange(shape.numel(), dtype=torch.float64)
    return (values if not dtype.is_floating_point else values / 4).to(dtype).reshape(shape)


def main(path):
    size = torch.Size([3, 2])
    state = torch.nn.Linear(1, 1).state_dict()  # with torch's _metadata
    state.clear()
    for name in ["float32", "float16", "bfloat16", "float64", "int64", "uint8", "bool"]:
        state[name] = count(size, getattr(torch, name))
    state["vector"] = torch.nn.Parameter(count(torch.Size([5]), torch.float32))
    state["scalar"] = torch.tensor(0.0)
    state["whole"] = torch.arange(12, dtype=torch.float32)
    state["part"] = state["whole"][4:10].reshape(2, 3)
    torch.save(state, path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
