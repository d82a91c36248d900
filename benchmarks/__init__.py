"""Every claim of speed, memory or sample count, measured."""

from pathlib import Path

NOT_BENCHMARKS = {
    "__init__",
    "__main__",
    "confirm",
    "contests",
    "frank_wolfe",
    "linear",
    "page",
    "rare",
    "rewards",
    "simopt_models",
    "spread",
    "table",
    "tables",
}
NAMES = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - NOT_BENCHMARKS)
