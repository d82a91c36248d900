"""The command `surefoot`: from its first instruction on, Ctrl-C ends it with a sentence."""

from __future__ import annotations

from surefoot.system.interrupts import end_this_process


def main() -> None:
    """Run the command that was typed."""
    end_this_process()
    from surefoot.cli import main as run_command  # not before: it takes a while

    run_command()


if __name__ == "__main__":
    main()
