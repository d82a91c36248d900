"""Why a run stops: each reason's text is the remedy."""

from __future__ import annotations

from enum import Enum


class StopReason(Enum):
    """Why a run stopped; the text says what to do next."""

    RUNNING = "The run is not over: pull the next phase. The arm is the best guess so far."
    IDENTIFIED = "One arm is left: it is the best with the stated confidence. Nothing more to do."
    WITHIN_TOLERANCE = (
        "The arm is within the tolerance of the best with the stated confidence. "
        "Nothing more to do."
    )
    ONE_ARM = "There is only one arm, so it is the best. Nothing was pulled."
    NONE_QUALIFIES = (
        "Every arm misses a limit, with the stated confidence. Nothing more to do, but to give "
        "other arms or limits."
    )
    BEATS_BASELINE = (
        "The arm is shown to be as good as the baseline, or better by the gain asked for, with the "
        "stated confidence, which is all that was asked. For the best arm, use "
        'aim="certify".'
    )
    BUDGET = (
        "The budget is spent, or too small for the next phase; the candidates are all still "
        "possible. Raise the budget to go on, or start anew with a tolerance."
    )
    SPENT = (
        "The budget is spent on the best guess, as was asked; the candidates are all still "
        'possible. For a certificate, use aim="certify".'
    )
    LOOKS_SPENT = (
        "The planned looks are used up without an answer, so the best arms are as good as tied: "
        "set a tolerance, or choose among the candidates."
    )
    MODEL_REJECTED = (
        "The rewards do not follow the model that was trusted, so the answer is not certified. "
        "Start anew with misfit=math.inf, which trusts none and lets this one guide, or accept it "
        'with on_misfit="ignore".'
    )
    NOISE_NOT_EQUAL = (
        "The pairs are not equally noisy, which Gaussian(equal=True) says, so the answer is not "
        'certified. Start anew with Gaussian(), or accept it with on_misfit="ignore".'
    )
    NOISE_TOO_LARGE = (
        "The rewards are noisier than stated, so the answer is not certified. Start anew with "
        'Gaussian(), which needs no scale, or accept it with on_misfit="ignore".'
    )
    PULLS_DEPEND = (
        "Pulls of a pair depend on those before them, so the answer is not certified: a generator "
        "that lives on from pull to pull, a warm state, a cache, a worn instrument. Begin each one "
        "afresh, with pull.rng() or pull.seed, and start a new study."
    )
    FEW_STREAMS = (
        "Rewards of full precision repeat to the last digit, so the simulator draws from a pool of "
        "a few seeds or stored runs, and more pulls of it say nothing new. Use all of pull.seed or "
        'pull.rng(), and start a new study; on_identical = "accept" is for rewards that may repeat.'
    )
    FAILURES_DEPEND = (
        "Pulls that failed gave a reward when they were tried again with the same seed, and of one "
        "arm more often than clusters fail. So the simulator draws randomness of its own, and what "
        "failed by bad luck was replaced by better luck. Draw all from pull.rng() or pull.seed, or "
        "let a failed pull count, with on_failure, and start a new study."
    )
    NO_SURVIVOR = (
        "Every arm was eliminated, which is hardly possible if model and noise are as stated: "
        "check the noise scale, or start anew with Gaussian() and misfit=math.inf."
    )
    SINGULAR_DESIGN = (
        "The paper's design leaves directions unmeasured that it needs, so the run can never "
        'stop: use rules="valid" or the algorithm "prime".'
    )
    IDENTICAL_REPLICATES = (
        "All pulls of a pair gave the same reward, to the last bit: is the seed fixed? Use "
        "pull.rng(), pull.seed or {seed}, and start a new study. A simulator without noise needs "
        "one pull of each pair, and no certificate; a new study, in another file, with "
        'on_identical = "accept" goes on all the same.'
    )
    SIMULATOR_CHANGED = (
        "The simulator was changed while the study went on, so its rewards may be those of two "
        "simulators, and the answer is not certified. `surefoot status` says what changed. If "
        "rewards mean the same as before, accept it and say why: study.accept_change(reason), or "
        "the option accept-change of `surefoot run`; else start a new study."
    )
    NOT_VERIFIED = (
        "The file does not prove the answer noted in it, so it is no certificate: "
        "`surefoot verify` says what was changed; go back to a copy that nobody has changed."
    )
    INDIFFERENCE_ZONE = (
        "One arm is left. It is best with the stated confidence only if the best arm is ahead of "
        "all others by the indifference zone or more, which nobody has checked, so it is not "
        'certified. Without that condition, use "prime" with a tolerance.'
    )
    NONE_FEASIBLE = (
        "Every arm is declared to miss a limit, with the stated confidence if none of them lies "
        "within the zone about its limit, which nobody has checked. Without that condition, use "
        '"prime" with slack.'
    )
    WITHIN_ZONE = (
        "One arm is selected. Its worst case is within the indifference zone of the best with the "
        "stated confidence, whatever the gaps; it is the best itself if that one leads by the "
        "zone, which nobody has checked, so it is not called certified."
    )
    HEURISTIC = (
        "One arm is left by a threshold that nobody has proved, so it is not certified: use "
        'threshold="proved", or "prime".'
    )
    NO_CERTIFICATE = (
        'This algorithm spends its budget and gives no certificate. For one, use "prime".'
    )

    @property
    def certifies(self) -> bool:
        return self in (
            StopReason.IDENTIFIED,
            StopReason.WITHIN_TOLERANCE,
            StopReason.ONE_ARM,
            StopReason.NONE_QUALIFIES,
            StopReason.BEATS_BASELINE,
        )

    @property
    def final(self) -> bool:
        """True if rewards of phases in flight could change nothing."""
        return self.certifies or self is StopReason.NO_SURVIVOR

    @property
    def selects(self) -> bool:
        """True if one arm was chosen by a rule that promises it only under a condition, or by one
        that nobody has proved.
        """
        return self in (
            StopReason.INDIFFERENCE_ZONE,
            StopReason.WITHIN_ZONE,
            StopReason.HEURISTIC,
        )

    @property
    def never_certifies(self) -> bool:
        """True if it is the end of a procedure that gives no certificate at all."""
        return self.selects or self in (StopReason.NO_CERTIFICATE, StopReason.NONE_FEASIBLE)

    @property
    def contradicts(self) -> bool:
        """True if what every confidence rests on is not as stated."""
        return self in (
            StopReason.MODEL_REJECTED,
            StopReason.NOISE_NOT_EQUAL,
            StopReason.NOISE_TOO_LARGE,
            StopReason.PULLS_DEPEND,
            StopReason.FEW_STREAMS,
            StopReason.FAILURES_DEPEND,
            StopReason.NO_SURVIVOR,
            StopReason.IDENTICAL_REPLICATES,
            StopReason.SIMULATOR_CHANGED,
            StopReason.NOT_VERIFIED,
        )
