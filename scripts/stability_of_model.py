"""Counts the steps of the small language model whose outcome no mode can change, given the hidden state.

    python3 scripts/stability_of_model.py [--ulpgate target/release/ulpgate] [--positions 1536] [--mode v5e/default/off]
    python3 scripts/stability_of_model.py --outcome top_p   # the tokens that a sampler keeps rather than the best one; also top_k
    python3 scripts/stability_of_model.py --folder JUDGED   # the same of a model with a tied head that examples/llama.py dumped

Teacher-forced over held-out text, in windows of 64 positions. The program before compilation (`prefill.before.hlo`) is cut at the
head: its first part gives the hidden states in MODE, its second the outcome of these: the token `argmax(h . W)`, the K tokens of
the largest logits, those tied with the last of them among them, or the fewest whose probabilities reach P. For each position
`ulpgate explore --any-mode` says whether its outcome is proven under every chip, precision, order and permitted rounding. Logits that
are compared with each other stand behind a guard, as `explore --repair` writes it. What is not proven is what a server would have to check. Needs nothing but Python.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/data/language_model"
WINDOW = 64
# The parameters' order, as `scripts/decoder.py` has it.
WEIGHTS = ["embedding", "norm", "attention_norm", "query", "key", "value", "output", "mlp_norm", "gate", "up", "down"]

# What a sampler keeps, of `logits` and `probabilities` of {rows} x {n}: regions, then instructions.
KEEP = {
    "top_k": """
  guarded = {of}[{rows},{n}] reduce-precision({logits}), exponent_bits=8, mantissa_bits=7
  largest = ({of}[{rows},{k}], s32[{rows},{k}]) topk(guarded), k={k}, largest=true
  values = {of}[{rows},{k}] get-tuple-element(largest), index=0
  last = {of}[{rows},1] slice(values), slice={{[0:{rows}], [{k_less}:{k}]}}
  least = {of}[{rows}] reshape(last)
  least.all = {of}[{rows},{n}] broadcast(least), dimensions={{0}}
  ROOT keep = pred[{rows},{n}] compare(guarded, least.all), direction=GE""",
    "top_p": """
  ascending = f32[{rows},{n}] sort({probabilities}), dimensions={{1}}, is_stable=true, to_apply=keep.below
  descending = f32[{rows},{n}] reverse(ascending), dimensions={{1}}
  zero = f32[] constant(0)
  reached = f32[{rows},{n}] reduce-window(descending, zero), window={{size=1x{n} pad=0_0x{n_less}_0}}, to_apply=keep.sum
  p = f32[] constant({p})
  p.all = f32[{rows},{n}] broadcast(p), dimensions={{}}
  inside = pred[{rows},{n}] compare(reached, p.all), direction=LT
  one = s32[{rows},{n}] convert(inside)
  none = s32[] constant(0)
  before = s32[{rows}] reduce(one, none), dimensions={{1}}, to_apply=keep.count
  at = s32[{rows},1,1] reshape(before)
  last = f32[{rows},1] gather(descending, at), offset_dims={{}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, \
operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, index_vector_dim=2, slice_sizes={{1,1}}
  least = f32[{rows}] reshape(last)
  least.all = f32[{rows},{n}] broadcast(least), dimensions={{0}}
  ROOT keep = pred[{rows},{n}] compare({probabilities}, least.all), direction=GE""",
}
REGIONS = "".join(
    f"""
{name} {{
  a = {of}[] parameter(0)
  b = {of}[] parameter(1)
  ROOT of = {result}
}}
"""
    for name, of, result in [
        ("keep.below", "f32", "pred[] compare(a, b), direction=LT"),
        ("keep.sum", "f32", "f32[] add(a, b)"),
        ("keep.count", "s32", "s32[] add(a, b)"),
    ]
)


def read(path):
    """Arrays of a .safetensors file: name to (dtype, shape, bytes)."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    head.pop("__metadata__", None)
    body = data[8 + length :]
    return {name: (a["dtype"], a["shape"], body[slice(*a["data_offsets"])]) for name, a in head.items()}


def write(path, arrays):
    head, body = {}, b""
    for name, (dtype, shape, data) in arrays.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def cut(text, outcome, sizes):
    """The program up to the hidden states, and that of the outcome of hidden states: what the head's dot takes."""
    start = text.index("ENTRY ")
    regions, entry = text[:start], text[start:]
    hidden = re.findall(r" dot\((\S+), ", entry)[-1]
    regions = re.sub(r"^HloModule ([^,\s]+).*", r"HloModule \1", regions)
    shape = re.search(rf"  {re.escape(hidden)} = (\S+) ", entry).group(1)
    before = re.sub(r"\n  ROOT .*", f"\n  ROOT hidden = ({shape}) tuple({hidden})", entry)
    lines = {m.group(1): m.group(0) for m in re.finditer(r"^  (?:ROOT )?(\S+) = .*$", entry, re.M)}
    logits, token, probabilities = re.search(r"^  ROOT .* tuple\((\S+), (\S+), (\S+)\)$", entry, re.M).groups()
    results = {"token": token, "top_k": logits, "top_p": probabilities}
    kept, wanted = {}, [results[outcome]]
    while wanted:
        name = wanted.pop()
        if name in kept or name == hidden:
            continue
        kept[name] = lines[name]
        operands = re.search(r"\w\(([^()]*)\)", lines[name].split(" = ", 1)[1]).group(1)
        wanted += [operand for operand in re.split(r", *", operands) if operand in lines]
    body = [f"  {hidden} = {shape} parameter(0)"] + [line for name, line in lines.items() if name in kept]
    if outcome == "token":
        root = next(line for line in body if line.startswith(f"  {token} = "))
        body[body.index(root)] = root.replace("  ", "  ROOT ", 1)
    else:
        of, rows, n = re.match(rf"  {re.escape(logits)} = (\w+)\[(\d+),(\d+)\]", lines[logits]).groups()
        known = {"of": of, "rows": rows, "n": n, "n_less": int(n) - 1, "k_less": sizes["k"] - 1, **sizes}
        body.append(KEEP[outcome].format(logits=logits, probabilities=probabilities, **known).strip("\n"))
        regions += REGIONS.lstrip("\n") + "\n"
    return regions + before, regions + "ENTRY head {\n" + "\n".join(body) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ulpgate", default="target/release/ulpgate")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--positions", type=int, default=1536)
    parser.add_argument("--mode", default="v5e/default/off")
    parser.add_argument("--outcome", choices=["token", *KEEP], default="token")
    parser.add_argument("--k", type=int, default=40, help="how many top_k keeps [40]")
    parser.add_argument("--p", type=float, default=0.9, help="what the probabilities that top_p keeps reach [0.9]")
    parser.add_argument("explore", nargs="*", help="further arguments of explore, behind --")
    arguments = parser.parse_args()
    weights = read(arguments.folder / "decoder.safetensors")
    text = read(arguments.folder / "tokens.safetensors")["held_out"][2]
    count, closest = {"proven": 0, "reachable": 0, "open": 0}, []
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        before, head = cut((arguments.folder / "prefill.before.hlo").read_text(), arguments.outcome, {"k": arguments.k, "p": arguments.p})
        (place / "hidden.hlo").write_text(before)
        (place / "head.hlo").write_text(head)

        def run(*command, ok=(0,)):
            found = subprocess.run([arguments.ulpgate, *map(str, command)], capture_output=True, text=True)
            if found.returncode not in ok:
                raise SystemExit(found.stderr)
            return found.stdout

        for window in range(min(arguments.positions, len(text) // 4) // WINDOW):
            tokens = text[4 * WINDOW * window : 4 * WINDOW * (window + 1)]
            given = {"arg0": ("I32", [WINDOW, 1], tokens)}
            given |= {f"arg{at + 1}": weights[name] for at, name in enumerate(WEIGHTS)}
            write(place / "in.safetensors", given)
            run("hlo", "eval", place / "hidden.hlo", "--inputs", place / "in.safetensors", "--mode", arguments.mode,
                "--out", place / "out.safetensors")
            hidden = read(place / "out.safetensors")["out0"]
            write(place / "h.safetensors", {"arg0": hidden, "arg1": weights["embedding"]})
            told = run("explore", place / "head.hlo", "--inputs", place / "h.safetensors", "--mode", arguments.mode,
                       "--any-mode", "--margins", "--json", *arguments.explore, ok=(0, 1))
            for row in json.loads(told)["rows"]:
                count[row["answer"]] += 1
                if row["decision"]:
                    closest.append((row["decision"]["declared_ulp"], row["decision"]["enclosed_ulp"]))
    steps = sum(count.values())
    print(f"{steps} steps: {count}; {100 * (1 - count['proven'] / steps):.2f} % are not proven")
    ahead = sorted(declared for declared, _ in closest)
    if ahead:
        print(f"ahead as declared, in ulps: median {ahead[len(ahead) // 2]:g}, {sum(a == 0 for a in ahead)} are tied")


if __name__ == "__main__":
    main()
