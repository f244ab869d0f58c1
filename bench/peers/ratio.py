"""Ours beside the peers': ratio.py OURS.json PEER.json...

Prints every case that both timed; the ratio is the peer's time over ours: above 1 we are faster.
"""
import json
import sys


def rows(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    return data, {(r["part"], r["case"]): r["wall_ms"]["median"]
                  for r in data["results"] if "wall_ms" in r}


def main():
    ours, own = rows(sys.argv[1])
    print(f'gabbro {ours["program"]["version"]} ({ours["program"]["source"]}) on '
          f'{ours["device"]["name"]}, {ours["device"]["driver"]}')
    for path in sys.argv[2:]:
        data, peer = rows(path)
        print(f'\n{data["peer"]}\n{"":48}{"gabbro ms":>12}{"peer ms":>12}{"ratio":>8}')
        for key, ms in own.items():
            if key in peer:
                print(f"{key[0]:11}{key[1]:37}{ms:12.3f}{peer[key]:12.3f}{peer[key] / ms:8.2f}")


if len(sys.argv) < 3:
    sys.exit(__doc__)
main()
