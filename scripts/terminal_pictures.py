"""Pictures of a terminal for README: each command that a picture follows is run, and its output is drawn as SVG.

    python3 scripts/terminal_pictures.py [PATH OF ulpgate]

Commands run in examples/first. Long lines go on below, at the next word. The test `readme` of tests/cli holds the words of
each picture to what the command says.
"""

import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples/first"
COLUMNS = 100
# Of a monospace font of 14 px: the advance of a character, and the height of a line.
ADVANCE, LINE, MARGIN = 8.43, 20, 16

# SGR codes that the command prints, by the class of their text.
CLASSES = {"31": "alarm", "32": "calm"}
STYLE = """
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }
    .frame { fill: #0d1117; stroke: #30363d }
    .prompt { fill: #7ee787 } .alarm { fill: #ff7b72; font-weight: bold } .calm { fill: #7ee787; font-weight: bold }
"""


def pictures():
    """The commands of README that a picture follows, with its description and its path."""
    text = (ROOT / "README.md").read_text()
    block = r"```\n\$ ([^\n]+)\n```\n\n!\[([^\]]*)\]\(([^)]+\.svg)\)"
    return re.findall(block, text)


def folded(line):
    """A line in as many as it needs. Those below are indented by two more."""
    rows, row = [], ""
    below = " " * (len(line) - len(line.lstrip()) + 4)
    for word in re.findall(r"\s*\S+", line):
        visible = re.sub(r"\x1b\[[0-9;]*m", "", row + word)
        if row and len(visible) > COLUMNS:
            rows.append(row)
            row = below + word.lstrip()
        else:
            row += word
    return [*rows, row]


def spans(row):
    """The parts of a row with the class of each."""
    kind, parts = "", []
    for part in re.split(r"(\x1b\[[0-9;]*m)", row):
        if part.startswith("\x1b["):
            codes = part[2:-1].split(";")
            kind = next((CLASSES[code] for code in codes if code in CLASSES), "")
        elif part:
            parts.append(f'<tspan class="{kind}">{html.escape(part)}</tspan>' if kind else html.escape(part))
    return "".join(parts)


def drawn(command, output, described):
    """The picture: the command behind a prompt, and its output."""
    rows = [f'<tspan class="prompt">$</tspan> {spans(row)}' if at == 0 else spans(row)
            for at, row in enumerate(folded(command))]
    rows += [spans(row) for line in output.splitlines() for row in folded(line)]
    width, height = round(COLUMNS * ADVANCE) + 2 * MARGIN + 24, len(rows) * LINE + 2 * MARGIN
    lines = [f'  <text x="{MARGIN}" y="{MARGIN + LINE * at + 15}" xml:space="preserve">{row}</text>'
             for at, row in enumerate(rows)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"  <title>{html.escape(described)}</title>",
        f"  <style>{STYLE}  </style>",
        f'  <rect class="frame" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        *lines,
        "</svg>",
    ]) + "\n"


def main():
    program = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/ulpgate").resolve()
    found = pictures()
    if not found:
        sys.exit("README.md shows no command with a picture")
    for command, described, path in found:
        words = shlex.split(command)
        ran = subprocess.run([program, "--color", "always", *words[1:]], cwd=FOLDER, capture_output=True, text=True)
        if ran.returncode not in (0, 1):
            sys.exit(f"{command}: {ran.stderr}")
        (ROOT / path).write_text(drawn(command, ran.stdout, described))
        print(path)


if __name__ == "__main__":
    main()
