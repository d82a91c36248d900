# The public names and where they live, each once. They are loaded at their first use.

__version__: str

from .algorithms import Algorithm as Algorithm
from .algorithms import Result as Result
from .algorithms import Settings as Settings
from .algorithms import StopReason as StopReason
from .algorithms.oracle import Oracle as Oracle
from .algorithms.prime import Prime as Prime
from .algorithms.prime import Tuning as Tuning
from .algorithms.robust_lingape import RobustLinGapE as RobustLinGapE
from .algorithms.robust_rage import RobustRage as RobustRage
from .algorithms.robust_static import RobustStatic as RobustStatic
from .algorithms.robust_track_and_stop import RobustTrackAndStop as RobustTrackAndStop
from .algorithms.stableopt import StableOpt as StableOpt
from .algorithms.uniform import Uniform as Uniform
from .design import Design as Design
from .design import g_design as g_design
from .design import robust_xy_design as robust_xy_design
from .design import round_design as round_design
from .errors import InputError as InputError
from .errors import SurefootWarning as SurefootWarning
from .experiments.comparison import Comparison as Comparison
from .experiments.comparison import compare as compare
from .experiments.macroreplication import EstimatedSimulator as EstimatedSimulator
from .experiments.macroreplication import Macroreplications as Macroreplications
from .experiments.macroreplication import macroreplicate as macroreplicate
from .experiments.session.runner import Session as Session
from .guides import Guide as Guide
from .hardness import Complexity as Complexity
from .hardness import complexity as complexity
from .hardness import likelihood_ratio as likelihood_ratio
from .noise import Bounded as Bounded
from .noise import Gaussian as Gaussian
from .noise import SubGaussian as SubGaussian
from .problem import RobustProblem as RobustProblem
from .simulate import LinearSimulator as LinearSimulator
from .simulate import TableSimulator as TableSimulator
from .simulate import identify as identify
from .statistics import Outcome as Outcome
from .statistics import Phase as Phase
from .study import Study as Study
from .study import StudyReader as StudyReader
from .study import Verified as Verified
from .study import verify as verify
