"""What the papers claim of their methods, on examples small enough to be certain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from streamkarma.baselines import (
    BatchKARMAClassifier,
    BatchKARMARegressor,
    GeometricMarginClassifier,
    ImputedClassifier,
    ImputedRegressor,
    MC1Classifier,
    MCBClassifier,
    MissingValueTreesClassifier,
    PairwiseNeighborsClassifier,
    ProjectionClassifier,
    named,
)
from streamkarma.baselines.projection import projected
from streamkarma.core.kernel import growth

NAN = np.nan


def incomplete(n: int = 90, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of rank two, columns near 10 and of different scale, and the sums of unscaled rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    along = X.sum(axis=1)
    return np.where(rng.random(X.shape) < 0.6, X * np.arange(1, d + 1) + 10.0, NAN), along


class TestZeroImputation:
    """[H, Section 5]: a constant feature, columns of mean 0, then 0; "simply reduced to gamma = 1"."""

    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_it_is_karma_of_order_one(self, classes: int, C: float) -> None:
        X, along = incomplete()
        y = np.digitize(along, [0.0] if classes == 2 else [-1.0, 1.0])
        karma = BatchKARMAClassifier(gamma=1, C=C).fit(X, y).decision_function(X)
        assert ImputedClassifier("zero", C=C).fit(X, y).decision_function(X) == pytest.approx(karma, abs=2e-3)

    def test_it_is_so_for_numbers_too(self) -> None:
        X, along = incomplete()
        karma = BatchKARMARegressor(gamma=1, C=3.0).fit(X, along).predict(X)
        assert ImputedRegressor("zero", C=3.0).fit(X, along).predict(X) == pytest.approx(karma, abs=1e-9)

    def test_and_for_what_is_chosen(self) -> None:
        X, along = incomplete()
        karma, zero = BatchKARMAClassifier(gamma=1).fit(X, along > 0), named("zero").make("binary")
        zero.fit(X, along > 0)
        assert zero.machine_.C == karma.C_
        assert np.array_equal(zero.predict(X), karma.predict(X))

    def test_the_normalised_kernel_is_none(self) -> None:
        X, along = incomplete()
        zero = ImputedClassifier("zero", C=1.0).fit(X, along > 0).decision_function(X)
        karma = BatchKARMAClassifier(gamma=1, C=1.0, normalize=True).fit(X, along > 0).decision_function(X)
        assert np.abs(zero - karma).max() > 0.05

    def test_what_is_missing_is_the_mean_and_not_zero_of_the_units(self) -> None:
        X, along = incomplete()
        model = ImputedClassifier("zero", C=1.0).fit(X, along > 0)
        filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        assert model.decision_function(filled) == pytest.approx(model.decision_function(X), abs=1e-9)
        # In raw units a missing value would be by far the smallest of its column.
        shifted = ImputedClassifier("zero", C=1.0).fit(X + 1000.0, along > 0)
        assert shifted.decision_function(X + 1000.0) == pytest.approx(model.decision_function(X), abs=1e-6)


class TestBatchKARMA:
    def test_without_a_free_intercept_the_constant_attribute_is_all(self) -> None:
        # The kernel includes the constant attribute, and the machine has no b.
        X, along = incomplete(60)
        model = BatchKARMAClassifier(gamma=2, C=1.0).fit(X, along > 0)
        values, observed = model._described(X)
        K = values @ values.T * growth(observed @ observed.T, 2)
        K /= np.diag(K).mean()
        w = model.machine_.columns[0].w
        assert model.decision_function(X) == pytest.approx(K @ w)

    def test_a_degree_composes_a_polynomial_with_the_kernel(self) -> None:
        X, along = incomplete(60)
        linear = BatchKARMAClassifier(gamma=2, C=1.0, bias=False).fit(X, along > 0)
        square = BatchKARMAClassifier(gamma=2, C=1.0, bias=False, degree=2).fit(X, along > 0)
        values, observed = linear._described(X)
        K = values @ values.T * growth(observed @ observed.T, 2)
        K = (1.0 + K / np.diag(K).mean()) ** 2
        machine = SVC(kernel="precomputed", C=1.0).fit(K, along > 0)
        assert square.decision_function(X) == pytest.approx(machine.decision_function(K), abs=0.02)

    def test_a_degree_bends_the_border(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 2))
        y = (X**2).sum(axis=1) < 1.2
        X[rng.random(X.shape) < 0.05] = NAN
        scores = [
            BatchKARMAClassifier(gamma=2, C=10.0, degree=degree).fit(X, y).score(X, y) for degree in (1, 2)
        ]
        assert scores[0] < 0.75
        assert scores[1] > 0.9

    @pytest.mark.parametrize("wrong", [{"degree": 0}, {"gamma": 0}, {"gamma": [1, 2.5]}, {"gamma": []}])
    def test_wrong_settings(self, wrong: dict[str, Any]) -> None:
        X, along = incomplete(20)
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must be an integer of 1 or more"):
            BatchKARMAClassifier(**wrong).fit(X, along > 0)

    def test_several_classes_are_those_of_crammer_and_singer(self) -> None:
        X, along = incomplete()
        y = np.digitize(along, [-1.0, 1.0])
        scores = BatchKARMAClassifier(gamma=2, C=1.0).fit(X, y).decision_function(X)
        # Its minimum has weights that sum to 0 over the classes; one against the rest has not.
        assert scores.sum(axis=1) == pytest.approx(np.zeros(len(X)), abs=1e-6)
        rest = BatchKARMAClassifier(gamma=2, C=1.0, multiclass="one-vs-rest").fit(X, y).decision_function(X)
        assert np.abs(rest.sum(axis=1)).max() > 0.1


class TestEquationOne:
    """[H, Eq. 1]: completing first is neither sufficient nor necessary."""

    ROWS = np.array([[1.0, NAN, 1.0, NAN], [NAN, -1.0, NAN, -1.0], [1.0, -1.0, 1.0, -1.0]])
    LABELS = np.array([1, -1, 1])

    def errors(self, name: str, draws: int = 2) -> float:
        """Mean error on rows drawn like the training rows, over draws of 60."""
        found = []
        for seed in range(draws):
            drawn = np.random.default_rng(seed).integers(0, 3, (2, 60))
            model = named(name).make("binary", scale=False).fit(self.ROWS[drawn[0]], self.LABELS[drawn[0]])
            assert model.predict(self.ROWS[:1]).tolist() == [1]
            found.append(1.0 - model.score(self.ROWS[drawn[1]], self.LABELS[drawn[1]]))
        return float(np.mean(found))

    @pytest.mark.parametrize("name", ["karma-batch", "zero", "geom"])
    def test_without_completing(self, name: str) -> None:
        assert self.errors(name) == 0.0

    @pytest.mark.parametrize("name", ["svd", "mc1", "mcb"])
    def test_completion_first(self, name: str) -> None:
        assert self.errors(name, draws=1) > 0.3


class TestProjection:
    def test_small_eigenvalues_are_inverted_as_definition_2_has_it(self) -> None:
        # E = span (σ, √(1-σ²)), o = {1}: Q_oo = σ², whose root is the singular value of P_o P_E.
        sigma = 0.05
        e = np.array([sigma, np.sqrt(1 - sigma**2)])
        Q = np.outer(e, e)
        row = np.array([[e[0], NAN]])
        assert projected(row, Q)[0, 0] == pytest.approx(e[0] / sigma**2)
        assert projected(row, Q, regularity=0.1)[0, 0] == 0.0
        assert ProjectionClassifier().regularity == 0.0


class TestGeom:
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_a_margin_is_measured_in_what_the_row_has(self, kernel: str) -> None:
        X, along = incomplete(70)
        X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
        model = GeometricMarginClassifier(C=1.0, kernel=kernel, width=0.2, scale=False).fit(X, along > 0)
        margin = model.margins_[0]
        for row, score in zip(X, model.decision_function(X), strict=True):
            o = ~np.isnan(row)
            if kernel == "linear":
                part, whole = np.linalg.norm(margin.w[o]), np.linalg.norm(margin.w)
                plain = row[o] @ margin.w[o]
            else:

                def square(columns: np.ndarray, m: Any = margin) -> float:
                    gaps = m.rows[:, None, columns] - m.rows[None, :, columns]
                    return float(m.c @ np.exp(-0.2 * (gaps**2).sum(axis=2)) @ m.c)

                part, whole = np.sqrt(square(o)), np.sqrt(square(np.full(len(o), True)))
                plain = np.exp(-0.2 * ((np.nan_to_num(row) - margin.rows) ** 2).sum(axis=1)) @ margin.c
            assert score == pytest.approx(plain / max(part / whole, 0.01) + margin.b)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_on_complete_rows_it_is_the_ordinary_machine(self, kernel: str) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((60, 4)), np.repeat([0, 1], 30)
        X[y == 1] += 0.7
        model = GeometricMarginClassifier(C=2.0, kernel=kernel, width=0.1, scale=False).fit(X, y)
        machine = SVC(kernel=kernel, gamma=0.1, C=2.0, tol=1e-8).fit(X, y)
        assert model.decision_function(X) == pytest.approx(machine.decision_function(X), abs=1e-3)


class TestProbabilities:
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize(
        "model",
        [
            ImputedClassifier("mean", machine="logistic", C=1.0),
            ImputedClassifier("zero", machine="logistic", C=1.0),
            MissingValueTreesClassifier(trees=20),
            PairwiseNeighborsClassifier(9),
            MCBClassifier(weight=1.0, mu=1e-3),
            MC1Classifier(weight=1.0, mu=1e-3),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_they_sum_to_one_and_agree_with_the_answers(self, model: Any, classes: int) -> None:
        X, along = incomplete()
        y = np.digitize(along, [0.0] if classes == 2 else [-1.0, 1.0])
        chances = model.fit(X, y).predict_proba(X)
        assert chances.shape == (len(X), classes)
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(X)))
        assert (chances >= 0.0).all()
        sure = np.sort(chances, axis=1)[:, -1] - np.sort(chances, axis=1)[:, -2] > 1e-9
        assert np.array_equal(model.classes_[chances.argmax(axis=1)][sure], model.predict(X)[sure])

    def test_a_support_vector_machine_has_none(self) -> None:
        for model in (ImputedClassifier(), BatchKARMAClassifier(), GeometricMarginClassifier()):
            assert not hasattr(model, "predict_proba")


def test_labels_of_zero_and_one_have_the_same_logistic_loss() -> None:
    # [H] gives mc1 and mcb a {0, 1} matrix of labels for several classes.
    z = np.linspace(-3, 3, 7)
    for y in (0.0, 1.0):
        assert np.logaddexp(0, z) - y * z == pytest.approx(np.logaddexp(0, -(2 * y - 1) * z))
