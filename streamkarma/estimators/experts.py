"""The experts of the mixture: each suits a different kind of stream."""

from __future__ import annotations

from streamkarma.core.explicit import ADAGRAD, AROW, Bins, Explicit, Products, Step
from streamkarma.core.factorisation import FactorisationMachine
from streamkarma.core.forest import Forest
from streamkarma.core.gaussian_process import GaussianProcess
from streamkarma.core.learner import Learner
from streamkarma.core.loss import HINGE, LOGISTIC, SQUARED
from streamkarma.core.mixture import Mixture
from streamkarma.core.naive_bayes import NaiveBayes
from streamkarma.core.neighbors import START, Neighbors
from streamkarma.core.refitted_trees import BoostedTrees, RandomisedTrees
from streamkarma.core.sgd import Logarithmic, Sgd
from streamkarma.core.subspace import Subspace, SubspaceSettings
from streamkarma.core.support import Rule, SupportVectors
from streamkarma.core.transformed_target import TransformedTarget
from streamkarma.estimators.settings import averaging_window
from streamkarma.parameters.learning import ADAGRAD_ETA, DEFAULT_RHO

#: log2 of the maximum number of weights of each explicit expert: four megabytes with their variances, and
#: every pair of 500 attributes before anything is hashed.
TABLE_BITS = 18

#: Maximum number of features of one event for the explicit experts: an event of more than 45 attributes is
#: learned without the features that grow with their square. On four wide synthetic streams the mixture made
#: up to 4 % more errors, in a third to a tenth of the time.
MOST_FEATURES = 2048

#: Maximum number of products of one event, those of its 128 largest values. On images of digits (usps, 256
#: attributes) the mixture's error rate is 5.1 % with these, as with all products, 5.6 % with half as many,
#: and 7.5 % without.
MOST_PRODUCTS = 8192

#: Rank of the factor model that complements pairs: it is ahead where data are truly of low rank.
RANK = 8

#: The factorisation machine's step and shrinkage, tuned for the mixture on synthetic streams of users and
#: items and of crossed categories, and on ratings of jokes; shrinkage up to this does no harm there.
FACTOR_ETA, FACTOR_SHRINK = 0.5, 1e-3

#: The experts of a regression that also learn the target transformed to a Gaussian. Without the Gaussian
#: process the mean absolute error was 2 and 5 % larger on two log-normal streams, and the same within .1 % on
#: 116 numbers of R's tables.
TRANSFORMED = ("explicit 2 arow", "subspace factor", "gaussian process")

#: As many as the forest has by itself. With four, and with only the moving bins, the mixture makes 4 % more
#: errors on 54 streams of river's generators (100,000 events, seeds 150 to 166), and as many on 58 tables and
#: other streams; an event costs a fifth less time where trees help, and as much where they are dormant.
TREES = 10

#: Half-life of the moving experts, in events; at most that of `forget`.
MOVING = 500.0


def experts(budget: int, half_life: float, regression: bool) -> dict[str, Learner]:
    """The experts by name, with this many support vectors and a half-life in events, 0 for none.

    - *Linear.* The order of the explicit ones determines whether weights depend on what else is observed;
      AROW learns fast, the more so with a small r, and AdaGrad tolerates noisy labels. The expert on
      logarithms handles heavy tails. SGD with a constant step follows drift.
    - *Pairs.* Products have a weight for each pair of values, and the factorisation machine one that
      factorises: it can use pairs of categories that never co-occurred, and is inactive if there are few.
      Bins fit thresholds and boxes.
    - *Subspaces* complete missing values from the observed ones that they are correlated with.
    - *Neighbours* fit any shape, but of few attributes. The *forest* and *boosted trees* fit thresholds and
      boxes: the forest earlier, boosted trees also where many of them add up. *Randomised trees* are finer
      where targets have little noise. The *Gaussian process* fits linear and smooth functions, and early.
    - *Naive Bayes* learns from the first label what a word says, or a pair of words, and has no weight before
      the first text or tags.
    - *Moving* experts have a half-life, and restart when their errors rise.

    Experts that share features are adjacent, so that these are computed once.
    """
    # AdaGrad takes the same steps as on its own: with smaller ones (0.05) where events are divided by their
    # norm, errors on 113 development streams of classes were .5 % more, and on 84 of numbers .1 % more. An
    # explicit expert of order 3 was never worth its time. Three more made little difference: order 2 with
    # r = 10 and with AdaGrad, and order 1 with a half-life. Without them errors on 71 generated streams and
    # tables were .05 % fewer, and the log loss .03 % higher.
    hinge, smooth = (SQUARED, SQUARED) if regression else (HINGE, LOGISTIC)
    moving = min(half_life or MOVING, MOVING)

    def step(r: float, half_life: float = half_life) -> Step:
        return Step(AROW, hinge, r, 0.0, 0.0, 0.0, half_life)

    def explicit(gamma: int, step: Step) -> Explicit:
        return Explicit(gamma, True, step, TABLE_BITS, MOST_FEATURES)

    adagrad = Step(ADAGRAD, smooth, 1.0, ADAGRAD_ETA, 0.0, 0.0, half_life)
    steepness = 6.0 if regression else 1.0
    rule = Rule(
        2, True, DEFAULT_RHO, 0.0, smooth, steepness, budget, "merge", averaging_window(half_life or None)
    )
    plain = SubspaceSettings(regression=regression, half_life=half_life)
    chosen: dict[str, Learner] = {
        "explicit 1 arow": explicit(1, step(10.0)),
        "explicit 1 adagrad": explicit(1, adagrad),
        "linear adagrad": Explicit(1, False, adagrad, TABLE_BITS, MOST_FEATURES),
        "explicit 2 arow": explicit(2, step(1.0)),
        "logarithms": Logarithmic(explicit(1, step(10.0))),
        "sgd 0.03": Sgd(regression, 0.03, half_life, TABLE_BITS),
        "sgd 0.1": Sgd(regression, 0.1, half_life, TABLE_BITS),
        "products": Products(step(3.0), TABLE_BITS, MOST_PRODUCTS),
        "bins": Bins(step(1.0), TABLE_BITS),
        "bins moving": Bins(step(1.0, moving)._replace(restarts=True), TABLE_BITS),
        "factorisation machine": FactorisationMachine(
            regression, FACTOR_ETA, FACTOR_SHRINK, half_life, TABLE_BITS
        ),
        "karma": SupportVectors(rule, average=False),
        "subspace": Subspace(plain._replace(r=100.0)),
        "subspace indicators": Subspace(plain._replace(indicators=True)),
        "subspace moving": Subspace(plain._replace(r=1.0, weights_half_life=moving)),
        "subspace factor": Subspace(plain._replace(max_pairwise_coordinates=1, rank=RANK)),
        # With `forget` the window does not grow to older events.
        "neighbors": Neighbors(regression, START if half_life else None),
        "forest": Forest(regression, TREES, half_life),
        "boosted trees": BoostedTrees(regression, half_life=half_life),
    }
    if regression:
        chosen["randomised trees"] = RandomisedTrees(half_life=half_life)
        chosen["gaussian process"] = GaussianProcess(half_life=half_life)
    else:
        chosen["naive bayes"] = NaiveBayes(half_life)
    return chosen


def transformed(half_life: float, absolute: bool) -> Learner:
    """A mixture of some of the experts, for a target transformed to a Gaussian."""
    chosen = experts(1, half_life, regression=True)
    inner = {name: chosen[name] for name in TRANSFORMED}
    # The outer mixture already adjusts for the latest errors.
    mixture = Mixture(inner, regression=True, half_life=half_life, recent=False)
    return TransformedTarget(mixture, median=absolute)
