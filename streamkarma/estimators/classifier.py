"""KARMA for two classes or more, as a river model."""

from __future__ import annotations

from dataclasses import dataclass

from streamkarma.core.loss import CLASSIFICATION
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.settings import CostParameters, SupportVectorParameters, support_vectors
from streamkarma.estimators.vectors import SupportVectorModel

#: See ``settings.support_vectors``. Tuned on 13 tabular sets with half of the attributes withheld and two
#: synthetic streams, none of them among the reported ones.
STEP_MARGIN = 1.0


@dataclass(eq=False, repr=False)
class KARMAClassifier(CostParameters, SupportVectorParameters, SupportVectorModel, BaseClassifier):
    """Online kernel classifier that learns from incomplete events without imputing them.

    KARMA competes with the best linear classifier on the *complete* data when these lie
    close to a low-dimensional subspace. It compares events by the attributes that both have:
    ``k(x, x') = G(n) * sum of x_i x'_i`` over the n attributes observed in both, with
    ``G(n) = 1 + n + … + n^(gamma-1)``.

    An attribute is missing when its key is absent or its value is None or NaN. Numbers and
    booleans (1 and 0) are numbers, strings are categories. New attributes, categories and
    classes may appear at any time.

    Parameters
    ----------
    gamma
        Order of the kernel, 1 to 32. 1 is zero imputation; 2 lets the weight of every attribute depend on
        which others are observed. ``"auto"``, with ``rho="auto"``: the best by the theorem, which is 8 for
        long streams; in practice 2 is hard to beat.
    rho
        Strength of the regularisation, 1e-12 to 1e12. A number gives Algorithm 1 with step
        1 / (rho t) at event t. None, the default, gives rho = 0.001 and steps never longer
        than 1 / k(x, x), so that the first thousand events are not learned in leaps.
        ``"auto"``: the rho of the theorem's bound for ``horizon`` events and rivals of norm 1, the
        bound of a loss with slopes of at most 1 and of the normalised kernel.
    eta
        Constant step, 1e-12 to 1e12, with ``eta * rho < 1``. None for the decreasing step.
    loss
        ``"logistic"``, ``"hinge"`` or ``"squared_hinge"``; with three classes or more
        their multiclass forms, for the hinge that of Crammer and Singer. Only the logistic
        loss gives meaningful probabilities; for the others they are the
        logistic function (or softmax) of the score.
    budget
        Maximum number of support vectors, 1 to 1,048,576; None for no limit. Events with the same
        attributes observed share one support vector without loss, so that a stream of few
        such patterns is learned exactly within the budget.
    pruning
        How to make room in a full model: ``"merge"`` merges the support vector of least norm
        into the pattern where most of it is kept, ``"remove"`` drops it, ``"oldest"``
        drops the oldest.
    normalize
        Divide the kernel by sqrt(k(x, x) k(x', x')): every event has norm 1.
    average
        Predict by the average of v_1 … v_T after T events [H, Thm 2.2], instead of by v_{T+1}, the last one:
        the last event has an effect only from the next event on.
    scale
        Standardise numbers by their running mean and variance, the event itself included,
        clipped at 5 standard deviations. river's own scalers accept neither None nor NaN.
    horizon
        With ``rho="auto"``: how many events will be learned, 1 to 1e15. None if unknown: the model then
        restarts after 1, 3, 7, 15, … events, each time for twice as many as before (the doubling trick), and
        a prediction right after a restart is uninformative.
    regularity
        With ``gamma="auto"``: λ, the smallest positive eigenvalue of a Q_oo, above 0 and at most 1. It is
        the square of the λ of [H, Def. 1, item 4], a smallest singular value. None for 0.5.
    forget
        Half-life in events, 1 to 1e15, of what was learned, for streams that drift: of the model,
        through a step that stops decreasing (a constant ``eta`` forgets anyway), and of means and
        variances. None to keep everything.
    max_attributes, max_coordinates
        Maximum number of attributes, and of numbers and categories, at a time, each 1 to 1,048,576. Beyond a
        bound, those that are rare and have not been seen for long are evicted for new ones. Memory grows with
        the product of these numbers and the budget, but only as names are seen.
    max_name_bytes
        Maximum length of the name of an attribute and of a category in bytes of UTF-8, 1 to 65,536. Longer
        ones are ignored. All of them together have at most 16 MiB: a number adds its attribute's name, a
        category that name and its own. A class that is a longer string is refused with a ValueError.
    na
        Words that stand for a missing value, ignoring case and surrounding blanks; None for the empty text,
        NA, N/A, null, none, nan, ? and -.
    sentinel
        Numbers that stand for a missing value, by attribute: one or up to four each.
    sentinels
        Whether to detect more of these: numbers at least 10 deviations from the mean that recur exactly.
        A sentinel counts as missing, and the attribute ``NAME.sentinel`` records which one it was.
    kinds
        Kinds of attributes by name, where their values do not show it: ``number``, ``boolean``, ``category``,
        ``text``, ``tags``, ``time`` (numbers count from 1970) or ``identifier``.
    entity
        Name of the field that identifies the entity of an event: a device, a patient, a customer. Its value,
        a number or a string, is an attribute, too. For each entity the last value of every number and
        category is remembered, see ``carry``, by ``learn_one`` and by every call that predicts or explains;
        if the same event is learned next, it counts once. None for no entities.
    time
        Name of the field with the time of an event: seconds since 1970 (or milliseconds, microseconds or
        nanoseconds, if it is that large), ISO 8601 or a ``datetime``; it is then not an attribute. None: time
        is counted in events.
    carry
        Use of remembered values: with ``fill`` they replace missing values; with ``last`` they are added to
        each attribute as ``NAME.last``, and log(1 + age) as ``NAME.age``; with ``off`` they are only
        remembered.
    carry_labels
        Whether to add to an event the last label of its entity as the attribute ``label.last``, and the mean
        of its last labels, about 16, as ``label.mean``. Booleans are 1 and 0; for strings there is the
        fraction of each instead, as ``label.mean.LABEL``, while there are at most 16 different ones.
    carry_for
        Maximum age of remembered values and labels, in seconds, or in events without ``time``; None for no
        limit.
    max_entities
        Maximum number of entities, 1 to 2**30; those unseen for the longest time are forgotten. With more
        than 32 values per entity on average, fewer fit.
    coverage
        Fraction of events in which the interval of a regression, or the set of classes, contains the label,
        0.01 to 0.999: see ``predict_set_one``, and ``predict_interval_one`` of regressors. None for none.
    max_classes
        Maximum number of classes, 1 to 1,048,576; a label beyond that is refused with a ValueError.
    class_weight
        Factor on the weight of an event when its label is learned. ``"balanced"``: by n / (K n_c), where n_c
        of the n labels so far are of its class, one of K, so that all classes have the same total weight; the
        first labels of a class that appears late have less. Or factors by class, 1e-12 to 1e12, and 1 for
        those not named. Probabilities are then those of the weighted stream; the losses and metrics reported
        are not weighted. None for no factors.
    threshold
        Which class is predicted; probabilities do not depend on it. None: the most probable. A number from 0
        to 1, for two classes: the positive one, which is the greater in sort order, from that probability on;
        a third class is refused with a ValueError. ``"balanced"``: the class whose probability is the largest
        multiple of its share of the labels so far, the optimal choice for balanced accuracy.

    Attributes
    ----------
    classes : list
        The labels seen so far; both False and True after the first boolean.
    support_vectors : list of SupportVector
        Observed sets, values and coefficients.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Notes
    -----
    A weight ``w`` multiplies the loss of the event; 0 leaves the model unchanged, and beyond 1e15 it counts
    as 1e15. A value that is infinite, or neither a number nor a string, raises RecordError, a ValueError,
    and the event is not learned.

    A model must be used by one thread at a time: threads that share one need a lock around each call, or
    concurrent calls raise RuntimeError.

    References
    ----------
    Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

    Examples
    --------
    >>> from streamkarma import KARMAClassifier
    >>> model = KARMAClassifier()
    >>> for _ in range(20):
    ...     model.learn_one({"temp": 31.0, "wind": "S", "rain": None}, "dry")
    ...     model.learn_one({"temp": 12.0, "rain": 4.5}, "wet")
    >>> model.predict_one({"temp": 13.0})
    'wet'
    >>> round(model.predict_proba_one({"wind": "S"})["dry"], 2)
    0.8

    With river's datasets and metrics:

    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), KARMAClassifier(), metrics.Accuracy())
    Accuracy: 89.83%
    """

    max_classes: int = 1000

    def __post_init__(self) -> None:
        self._begin(support_vectors(self, CLASSIFICATION, STEP_MARGIN))
