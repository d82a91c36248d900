"""Every claim of speed, memory or sample count, measured."""

from pathlib import Path

NOT_BENCHMARKS = {"__init__", "__main__", "table", "frank_wolfe", "rewards", "contests"}
NAMES = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - NOT_BENCHMARKS)
