"""What the command lines of the studies share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def span(text: str) -> list[int]:
    """'4-8' or '4,8,16' or a mix, as a sorted list of integers."""
    values: set[int] = set()
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            values.update(range(int(first), int(last or first) + 1))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of sizes such as 2-12 or 4,8,16") from None
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} holds no size of 1 or more")
    return sorted(values)


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def parser(description: str, out: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    made.add_argument("--out", type=Path, default=Path(out), help="folder of the artifact and the figure")
    made.add_argument("--tag", default=None, help="a word for the file name")
    made.add_argument("--plot", type=Path, default=None, metavar="ARTIFACT", help="only draw an artifact again")
    return made


def main(command: Callable[[], None]) -> None:
    try:
        command()
    except (ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("stopped; nothing was written.", file=sys.stderr)
        raise SystemExit(130) from None
