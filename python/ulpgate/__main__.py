"""The command line: what the binary does, with its exit codes."""

import signal
import sys

from . import _ulpgate


def main() -> None:
    """Runs the command line of this process and ends it."""
    # As in the binary, Ctrl-C ends what computes; Python would only take note of it. `ulpgate run` sets its own handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_ulpgate.main(["ulpgate", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
