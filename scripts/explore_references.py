"""Counts where compilers went beyond what `ulpgate explore` says they may.

    python3 scripts/explore_references.py [--ulpgate target/release/ulpgate] tests/data/hlo tests/data/hlo_more

For each program of these folders (`cpu/NAME.before.hlo` with its inputs): what XLA:CPU computed in both settings of the flag
(`cpu/NAME.excess_*.outputs.safetensors`), and what the files that TPU compilers made give as they stand
(`tpu/CHIP/NAME.excess_*.hlo`), each result against the enclosure of everything permitted. Prints one line a result with
elements outside, then how many results there were and how much of them is not known. Needs nothing but Python.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

LINE = re.compile(r"(\S+): (\d+) of (\d+) elements outside, (\d+) not known(.*)")


def explore(arguments, before, inputs, mode, outputs):
    command = [arguments.ulpgate, "explore", before, "--inputs", inputs, "--mode", mode, "--against", outputs]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ulpgate", default="target/release/ulpgate")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    count = {"results": 0, "outside": 0, "elements": 0, "beyond": 0, "unknown": 0, "refused": 0}

    def tell(name, found):
        # What is judged in part is 2 as well, with its lines.
        if found.returncode == 2 and not found.stdout:
            count["refused"] += 1
            print(f"{name}: {found.stderr.strip()[:200]}")
            return
        for line in found.stdout.splitlines():
            result, beyond, elements, unknown, more = LINE.match(line).groups()
            count["results"] += 1
            count["elements"] += int(elements)
            count["beyond"] += int(beyond)
            count["unknown"] += int(unknown)
            if beyond != "0":
                count["outside"] += 1
                print(f"{name} {line}")

    for folder in arguments.folders:
        for before in sorted((folder / "cpu").glob("*.before.hlo")):
            name = before.name.removesuffix(".before.hlo")
            inputs = before.with_name(f"{name}.inputs.safetensors")
            for flag in ("on", "off"):
                outputs = before.with_name(f"{name}.excess_{flag}.outputs.safetensors")
                if outputs.exists():
                    tell(f"{name} cpu {flag}", explore(arguments, before, inputs, "xla-cpu/default/off", outputs))
            for compiled in sorted((folder / "tpu").glob(f"*/{name}.excess_*.hlo")):
                chip, flag = compiled.parent.name, compiled.name.split("excess_")[1].removesuffix(".hlo")
                own = compiled.with_name(before.name)
                with tempfile.TemporaryDirectory() as place:
                    outputs = pathlib.Path(place) / "out.safetensors"
                    mode = f"{chip}/default/as-compiled"
                    command = [arguments.ulpgate, "hlo", "eval", compiled, "--inputs", inputs, "--out", outputs, "--mode", mode]
                    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
                    if ran.returncode == 2:
                        count["refused"] += 1
                        print(f"{name} {chip} {flag}: {ran.stderr.strip()[:200]}")
                        continue
                    source = own if own.exists() else before
                    tell(f"{name} {chip} {flag}", explore(arguments, source, inputs, f"{chip}/default/off", outputs))
    print(count)


if __name__ == "__main__":
    main()
