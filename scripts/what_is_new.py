#!/usr/bin/env python3
"""Compiles committed programs with the release that is installed, and prints what is new in what its compilers write.

    python -m venv venv && venv/bin/pip install --upgrade "jax[tpu]" safetensors
    venv/bin/python scripts/what_is_new.py tests/data/hlo --ulpgate target/release/ulpgate --out new

The folder is laid out as dump_hlo.py lays dumps out: {cpu,tpu/GENERATION}/NAME.before.hlo, and beside it NAME.excess_on.hlo and
NAME.excess_off.hlo of an earlier release. Each NAME.before.hlo is printed anew and compiled anew, with the flag on and off. What the
new files have and none of the earlier ones of the same folder has is listed, with the files that have it:

    opcode, custom call, attribute, fusion kind, key and word value of backend_config (emitters, strategies, algorithms)
    unit: files whose products are on the matrix unit in another number (a dot or convolution that a file still holds is there)
    plan: files in which windows of matrix-unit products, or algorithms of collectives, are other ones
    not read: files that `ulpgate hlo show` refuses (--ulpgate), with its reason
    not known: attributes in them that `ulpgate hlo show` does not know
    not compiled: programs that the compiler refuses

--tables compiles the tables of the project anew as well (dot_units.py, function_accuracy.py, collective_plans.py; an hour) and prints
the rows that changed: units, tolerances, plans.
"""

import argparse
import collections
import csv
import importlib.metadata
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from ahead_of_time import load, lowering

stablehlo = load("stablehlo")

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The tables, the scripts that make them, and how many columns of a row name what the others say.
TABLES = {
    "src/machine/dot_units.csv": ("dot_units.py", 4),
    "src/machine/vector/function_accuracy.csv": ("function_accuracy.py", 3),
    "tests/data/collectives/plans.csv": ("collective_plans.py", 8),
}
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?[\w.-]+ = (?:\((?:[^()]|\([^()]*\))*\)|\S+) ([\w-]+)\(", re.MULTILINE)
ATTRIBUTE = re.compile(r", ([a-z_]\w*)=")
PRODUCT = re.compile(r" (?:convolution|dot)\(")


def configs(text):
    """The objects of `backend_config`."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"backend_config=(?=\{)", text):
        try:
            yield decoder.raw_decode(text, match.end())[0]
        except ValueError:
            continue


def paths(value, above=""):
    """The keys of an object, by their paths, and words that they have as values: no numbers, which are sizes."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{above}.{key}" if above else key
            yield "backend_config key", path
            yield from paths(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, above)
    elif isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value):
        yield "backend_config value", f"{above}={value}"


def inventory(text):
    """What a file has, as pairs of a kind and a name."""
    # Text between quotation marks names no attribute.
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', re.sub(r"(metadata|backend_config|frontend_attributes)=\{[^\n]*", r"\1={}", text))
    found = {("opcode", name) for name in INSTRUCTION.findall(text)}
    found |= {("custom call", name) for name in re.findall(r'custom_call_target="([^"]*)"', text)}
    found |= {("attribute", name) for name in ATTRIBUTE.findall(bare)}
    found |= {("attribute", name) for name in re.findall(r"(metadata|backend_config|frontend_attributes)=", text)}
    found |= {("fusion kind", name) for name in re.findall(r"kind=(k\w+)", text)}
    for config in configs(text):
        found |= set(paths(config))
    return found


def plans(text):
    """The plans of products and collectives, in any order."""
    found = []
    for line in text.splitlines():
        if "backend_config={" not in line:
            continue
        for config in configs(line):
            window = config.get("window_config") or {}
            kept = {key: window[key] for key in sorted(window) if key.endswith("_bounds")}
            algorithm = config.get("collective_algorithm_config")
            emitter = (config.get("convolution_algorithm_config") or {}).get("emitter")
            if emitter or algorithm:
                found.append(json.dumps([kept, emitter, algorithm], sort_keys=True))
    return sorted(found)


def target_of(folder, path):
    """The topology of a file's folder, none for the CPU; the part of the folder that says so."""
    parts = path.relative_to(folder).parts
    if "tpu" in parts:
        generation = parts[parts.index("tpu") + 1]
        return lowering.TOPOLOGIES.get(generation), f"tpu/{generation}"
    return None, "cpu"


class News:
    """What is new, by kind: names with the files that have them."""

    def __init__(self):
        self.found = collections.defaultdict(lambda: collections.defaultdict(list))

    def add(self, kind, name, file):
        self.found[kind][name].append(file)

    def print(self):
        for kind in sorted(self.found):
            print(f"{kind}:")
            for name, files in sorted(self.found[kind].items()):
                few = ", ".join(files[:3]) + (", ..." if len(files) > 3 else "")
                print(f"  {name} ({len(files)}: {few})")
        if not self.found:
            print("nothing is new")


def compare(before, texts, folder, news, out, ulpgate):
    """Adds what the texts of a program, printed and compiled anew, have that the earlier files do not."""
    stem = before.name.removesuffix(".before.hlo")
    for setting, text in texts.items():
        name = f"{before.parent.relative_to(folder)}/{stem}.{setting}.hlo"
        earlier = before.with_name(f"{stem}.{setting}.hlo")
        if earlier.exists():
            old = earlier.read_text()
            counts = [len(PRODUCT.findall(one)) for one in (old, text)]
            if counts[0] != counts[1] and "tpu" in name:
                news.add("unit", f"{counts[0]} products on the matrix unit -> {counts[1]}", name)
            if plans(old) != plans(text):
                news.add("plan", "other windows or algorithms", name)
        written = out / name
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(stablehlo.without_folders(text))
        if ulpgate:
            shown = subprocess.run([ulpgate, "hlo", "show", written], capture_output=True, text=True)
            told = [line.split(": ", 2)[-1] for line in shown.stderr.splitlines()]
            if shown.returncode != 0:
                news.add("not read", " ".join(told).strip()[:160], name)
            for attribute in {match[0] for line in told if (match := re.match(r"attribute `[^`]*`", line)) and "is not known" in line}:
                news.add("not known", attribute, name)


def tables(news):
    """Adds the rows of the project's tables that the installed release makes otherwise."""
    for table, (script, keys) in TABLES.items():
        with tempfile.TemporaryDirectory() as folder:
            fresh = pathlib.Path(folder) / "fresh.csv"
            command = [sys.executable, ROOT / "scripts" / script]
            # One of them writes the file that it is given, the others write to standard output.
            done = subprocess.run([*command, fresh] if script == "collective_plans.py" else command, capture_output=True, text=True)
            if done.returncode != 0:
                news.add("table", f"{script} failed: {done.stderr.strip().splitlines()[-1:]}", table)
                continue
            text = fresh.read_text() if fresh.exists() else done.stdout
        old, new = (rows_of(one, keys) for one in ((ROOT / table).read_text(), text))
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                news.add(f"table {table}", f"{' '.join(key)}: {old.get(key, 'none')} -> {new.get(key, 'none')}", script)


def rows_of(text, keys):
    """The rows of a table by what names them; releases aside, which each row of one table has."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    header, *rows = csv.reader(lines)
    kept = [at for at, name in enumerate(header) if name not in ("jax", "libtpu")]
    found = collections.defaultdict(list)
    for row in rows:
        row = [row[at] for at in kept]
        found[tuple(row[:keys])].append(row[keys:])
    return dict(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder of dumps, with what an earlier release compiled")
    parser.add_argument("--only", action="append", default=[], help="cpu, or a generation, as v5e; may be repeated")
    parser.add_argument("--name", action="append", default=[], help="a program, by its name; may be repeated")
    parser.add_argument("--out", type=pathlib.Path, help="folder to write the new files to")
    parser.add_argument("--ulpgate", help="the command, to try whether it reads the new files")
    parser.add_argument("--tables", action="store_true", help="make the project's tables anew as well")
    options = parser.parse_args()

    befores = sorted(options.folder.rglob("*.before.hlo"))
    if not befores:
        parser.error(f"{options.folder} has no .before.hlo")
    had, files, news = set(), collections.defaultdict(list), News()
    for file in itertools.chain(befores, options.folder.rglob("*.excess_*.hlo")):
        had |= inventory(file.read_text())
    compiled = 0
    with tempfile.TemporaryDirectory() as scratch:
        out = options.out or pathlib.Path(scratch)
        for before in befores:
            topology, target = target_of(options.folder, before)
            stem = before.name.removesuffix(".before.hlo")
            if options.only and target.split("/")[-1] not in options.only or options.name and stem not in options.name:
                continue
            name = str(before.relative_to(options.folder))
            if topology is None and target != "cpu":
                news.add("not compiled", f"no topology of {target} is known", name)
                continue
            try:
                program = stablehlo.read(before)
                lowered = stablehlo.lower_for_topology(program, topology) if topology else stablehlo.lower_for_cpu(program)
                texts = {setting: lowering.text_of(one) for setting, one in lowering.compile_both(lowered).items()}
                # As JAX hands it over: a release may write that otherwise as well.
                texts["before"] = lowered.as_text()
            except Exception as error:
                news.add("not compiled", lowering.first_line(error)[:160], name)
                continue
            compiled += 1
            for setting, text in texts.items():
                for item in inventory(text) - had:
                    files[item].append(f"{target}/{stem}.{setting}")
            compare(before, texts, options.folder, news, out, options.ulpgate)
    for (kind, name), several in files.items():
        news.found[f"new {kind}"][name] = several
    if options.tables:
        tables(news)
    releases = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "jaxlib", "libtpu"))
    print(f"{releases}: {compiled} of {len(befores)} programs compiled, each with the flag on and off")
    news.print()


if __name__ == "__main__":
    main()
