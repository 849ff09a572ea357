"""Says whether XLA:CPU shows what `ulpgate explore --counterexample` found.

    JAX_PLATFORMS=cpu python scripts/check_counterexample.py DIR...

Each DIR has a `counterexample.py`. Verified means: with the flag off the program gives the declared outcome, with the flag on
another one. Where the file says that XLA:CPU does not take these choices (SHOWN_BY is "choices"), it means instead that the
choices written out give the outcome that was found; where it says "nothing", that it was found in another chip's arithmetic alone. Prints a line a folder; exits 1 unless all are verified. Needs jax.
"""

import argparse
import importlib.util
import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402


def load(path):
    spec = importlib.util.spec_from_file_location(f"counterexample_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bits(outcome):
    """What two outcomes are compared by: NaNs are one, and -0 is not 0."""
    return repr(outcome)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    failed = 0
    for folder in parser.parse_args().folders:
        found = load(folder / "counterexample.py")
        off, on = found.outcome(found.program, False), found.outcome(found.program, True)
        written = found.outcome(found.written_out, False)
        is_declared, is_chosen = bits(off) == bits(found.DECLARED), bits(written) == bits(found.CHOSEN)
        flips = is_declared and bits(on) != bits(off)
        if flips:
            verdict = "verified: the flag changes the outcome"
        elif found.SHOWN_BY == "choices" and is_declared and is_chosen:
            verdict = "verified with the choices written out: XLA:CPU does not take them by itself"
        else:
            expected = "" if found.SHOWN_BY != "nothing" else ", which is not expected of XLA:CPU: another chip's arithmetic shows it"
            verdict, failed = f"NOT verified{expected}", failed + 1
        print(f"{folder}: {verdict} ({jax.default_backend()}, jax {jax.__version__})")
        print(f"    flag off {off}{'' if is_declared else ' instead of ' + str(found.DECLARED)}")
        print(f"    flag on {on}")
        print(f"    choices written out {written}{'' if is_chosen else ' instead of ' + str(found.CHOSEN)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
