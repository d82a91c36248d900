"""`surefoot cite`: how to cite the paper and this software."""

from __future__ import annotations

PAPER = """\
@article{wang2023robust,
  title   = {Robust Best-arm Identification in Linear Bandits},
  author  = {Wang, Wei and Vakili, Sattar and Bogunovic, Ilija},
  journal = {arXiv preprint arXiv:2311.04731},
  year    = {2023},
}"""

SOFTWARE = """\
@software{{surefoot,
  title   = {{Surefoot: the configuration with the best worst case, with proof}},
  author  = {{{{The Surefoot developers}}}},
  version = {{{version}}},
  year    = {{2026}},
}}"""


def command() -> None:
    """Print BibTeX entries for the paper and for this version of the software."""
    from surefoot import __version__

    print("% the problem, Robust Static and Robust RAGE:", PAPER, sep="\n")
    print("\n% this software; PRIME and the exact complexity are described in its documentation:")
    print(SOFTWARE.format(version=__version__))
