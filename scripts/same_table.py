#!/usr/bin/env python3
"""Writes the table of docs/same.md: what `ulpgate same` says of pairs of dumps.

    python3 scripts/same_table.py [--ulpgate target/release/ulpgate] tests/data/hlo tests/data/hlo_more

Each folder is one that scripts/dump_hlo.py wrote: `cpu/NAME.{before,excess_on,excess_off}.hlo` and `tpu/CHIP/...`. The pairs
are the flag off and on of each compiled program, each source and what was compiled of it, and one program compiled for
two generations that follow one another, on one machine and each on its own. The machine is that which a file was compiled for, as
compiled and with `acc=tiled`. A pair that is refused is counted as open. Times are processor seconds of the whole command. Prints the
table in Markdown; with `--list` each pair and its answer as well. Needs nothing but Python.
"""

import argparse
import collections
import os
import pathlib
import statistics
import subprocess
import sys

# In order of age.
CHIPS = ["xla-cpu", "v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"]
ANSWERS = {0: "same", 1: "part", 2: "open"}


def mode(chip):
    return f"{chip}/default/as-compiled+acc=tiled" if chip != "xla-cpu" else "xla-cpu/default/as-compiled"


def dumps(folder):
    """The compiled and the written files of a folder, by name, chip and kind."""
    found = {}
    for chip, place in [("xla-cpu", folder / "cpu"), *((chip, folder / "tpu" / chip) for chip in CHIPS[1:])]:
        for kind in ("before", "excess_off", "excess_on"):
            for path in place.glob(f"*.{kind}.hlo"):
                found[path.name.removesuffix(f".{kind}.hlo"), chip, kind] = path
    return found


def pairs(found):
    """Each pair: its kind, both files, and the modes of both."""
    for (name, chip, kind), path in sorted(found.items(), key=lambda item: (item[0][2], item[0][0], CHIPS.index(item[0][1]))):
        if kind == "excess_on":
            if other := found.get((name, chip, "excess_off")):
                yield "flag off and on", other, path, mode(chip), mode(chip)
            older = CHIPS[1 : max(CHIPS.index(chip), 1)]
            before = next((older for older in reversed(older) if (name, older, kind) in found), None)
            if before:
                other = found[name, before, kind]
                yield "two generations of TPU, on one machine", other, path, mode(chip), mode(chip)
                yield "... each on its own", other, path, mode(before), mode(chip)
        if kind != "before" and (source := found.get((name, chip, "before"))):
            flag = kind.removeprefix("excess_")
            yield f"source and compiled, flag {flag}", source, path, mode(chip), mode(chip)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ulpgate", default="target/release/ulpgate")
    parser.add_argument("--list", action="store_true", help="print each pair and its answer as well")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()

    answers = collections.defaultdict(list)
    for folder in options.folders:
        found = dumps(folder)
        if not found:
            sys.exit(f"same_table: {folder} has no dumps: cpu/NAME.before.hlo, cpu/NAME.excess_on.hlo, tpu/CHIP/...")
        for kind, one, other, first, second in pairs(found):
            command = [options.ulpgate, "same", str(one), str(other), "--mode", first, "--other-mode", second]
            begun = os.times()
            run = subprocess.run(command, capture_output=True, text=True)
            ended = os.times()
            if run.returncode not in ANSWERS:
                sys.exit(f"same_table: {' '.join(command)} ended with {run.returncode}: {run.stderr.strip()}")
            seconds = sum(ended[2:4]) - sum(begun[2:4])
            answers[kind].append((ANSWERS[run.returncode], seconds))
            if options.list:
                print(f"{ANSWERS[run.returncode]} {seconds:.3f} {one} {other} {first} {second}", flush=True)
    answers["all"] = [answer for list_of in answers.values() for answer in list_of]

    print("| pairs of dumps | pairs | the same | part | open | decided | median | slowest |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, told in answers.items():
        counts = [sum(answer == each for answer, _ in told) for each in ANSWERS.values()]
        times = [seconds for _, seconds in told]
        decided = 100 * (1 - counts[2] / len(told))
        cells = [kind, len(told), *counts, f"{decided:.1f} %", f"{statistics.median(times):.3f}", f"{max(times):.1f}"]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main()
