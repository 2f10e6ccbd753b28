"""Weighted infinite imputations [D]: the search, and the estimators around it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from streamkarma.baselines.feature_mean import MeanFeatImputer
from streamkarma.baselines.priors import PRIORS, Decision, Prior
from streamkarma.baselines.wii import InfiniteImputationsClassifier, InfiniteImputationsRegressor
from streamkarma.baselines.wii_search import ImputationMixture, Search

Array = NDArray[np.float64]


def near_line(n: int, d: int, seed: int, missing: float = 1 / 3) -> tuple[Array, Array]:
    """Rows near a line with some values missing, scaled, and the side of zero they are on."""
    rng = np.random.default_rng(seed)
    along = rng.standard_normal(n)
    X = along[:, None] * rng.choice([-1.0, 1.0], d) + 0.3 * rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return X, np.where(along > 0, 1.0, -1.0)


def search(X: Array, y: Array, prior: str, squared: bool, gamma: float = 1.0, C: float = 1.0) -> Search:
    codes = np.zeros(len(y), dtype=int) if squared else (y > 0).astype(int)
    completed = Prior.named(prior, X, codes, 0.3, 0).completed
    rng = np.random.RandomState(0)
    return Search(X, y, completed, squared=squared, C=C, gamma=gamma, width=0.3, rng=rng)


def silent(text: str) -> None:
    pass


class TestPriors:
    def test_means_of_columns_and_of_classes(self) -> None:
        X, y = near_line(40, 3, 0)
        X[:, 1] = np.nan
        mean = Prior.named("mean", X, y, 0.3, 0)
        assert mean.completed[:, 0] == pytest.approx(np.where(np.isnan(X), np.nanmean(X[:, :1]), X)[:, 0])
        assert (mean.completed[:, 1] == 0).all()
        of_class = Prior.named("class-mean", X, y, 0.3, 0)
        expected = np.where(y > 0, np.nanmean(X[y > 0, 0]), np.nanmean(X[y < 0, 0]))
        assert of_class.completed[:, 0] == pytest.approx(np.where(np.isnan(X[:, 0]), expected, X[:, 0]))

    @pytest.mark.parametrize("name", PRIORS)
    def test_all_give_a_point_for_every_row_and_keep_what_is_observed(self, name: str) -> None:
        X, y = near_line(40, 3, 1)
        prior = Prior.named(name, X, y, 0.3, 0)
        for completed in (prior.completed, prior.points(X)):
            assert np.isfinite(completed).all()
            assert np.array_equal(completed[~np.isnan(X)], X[~np.isnan(X)])


class TestSearch:
    @pytest.mark.parametrize("prior", PRIORS)
    @pytest.mark.parametrize("squared", [False, True])
    def test_the_objective_falls_and_is_what_the_weights_say(self, prior: str, squared: bool) -> None:
        X, y = near_line(25, 3, 3)
        found = search(X, y, prior, squared, gamma=0.1)
        result = found.run(8, 1, 1e-6, silent)
        assert len(result.objectives) > 1
        assert (np.diff(result.objectives) < 0).all()
        assert result.weights.sum() == pytest.approx(1.0)
        seen = ~np.isnan(X)
        for table in result.tables:
            assert np.array_equal(table[seen], X[seen])
        # The last objective, from its definition.
        pairs = list(zip(result.weights, result.tables, strict=True))
        K = sum(weight * rbf_kernel(table, gamma=0.3) for weight, table in pairs)
        scores = K @ result.c + result.b
        losses = (y - scores) ** 2 if squared else np.maximum(0, 1 - y * scores)
        Q = sum(
            weight * (2 - 2 * np.diag(rbf_kernel(table, found.completed[found.group], gamma=0.3))).sum()
            for weight, table in pairs
        )
        value = 0.5 * result.c @ K @ result.c + losses.sum() + 0.1 * Q
        assert result.objectives[-1] == pytest.approx(float(value), rel=1e-4)
        assert result.scores(result.tables[0], 0.3) == pytest.approx(
            sum(weight * rbf_kernel(result.tables[0], table, gamma=0.3) for weight, table in pairs) @ result.c
            + result.b
        )

    def test_slopes_are_those_of_the_gain(self) -> None:
        X, y = near_line(10, 3, 4)
        found = search(X, y, "meanfeat", False, gamma=0.7)
        rng = np.random.default_rng(0)
        c, table = rng.standard_normal(10), rng.standard_normal((10, 3))
        _, slope = found._gain(c, table, np.arange(len(c)))
        for i, j in np.ndindex(*X.shape):
            step = np.zeros_like(table)
            step[i, j] = 1e-6
            up, down = (found._gain(c, table + by, np.arange(10))[0] for by in (step, -step))
            assert slope[i, j] == pytest.approx((up - down) / 2e-6, abs=1e-5)

    def test_the_gain_is_how_steeply_the_objective_falls(self) -> None:
        X, y = near_line(20, 3, 5)
        found = search(X, y, "mean", True, gamma=0.1)
        now = found._mixture([found.completed], np.ones(1))
        c = now.decision.c
        gain, table = next(found._ascended(c, found.completed))
        assert gain == pytest.approx(found._gain(c, table, np.arange(len(c)))[0])
        mixed = now.K + 1e-6 * (found._kernel(table) - now.K)
        nearby = ImputationMixture(mixed, 1e-6 * found._distance(table), found._decision(mixed))
        fallen = (found._objective(now) - found._objective(nearby)) / 1e-6
        assert gain - 0.5 * c @ now.K @ c == pytest.approx(fallen, rel=1e-3)

    @pytest.mark.parametrize("squared", [False, True])
    def test_the_line_search_is_exact(self, squared: bool) -> None:
        X, y = near_line(20, 3, 5)
        found = search(X, y, "mean", squared, gamma=0.1)
        now = found._mixture([found._drawn()], np.ones(1))
        two = found._drawn()
        K, Q = found._kernel(two), found._distance(two)

        def value(beta: float) -> float:
            mixed = (1 - beta) * now.K + beta * K
            return found._objective(
                ImputationMixture(mixed, (1 - beta) * now.Q + beta * Q, found._decision(mixed))
            )

        beta, there = found._line(now, K, Q)
        assert found._objective(there) == pytest.approx(value(beta))
        assert 0 < beta <= 1
        assert value(beta) <= min(value(each) for each in np.linspace(0, 1, 201)) + 1e-4

    @pytest.mark.parametrize("squared", [False, True])
    def test_equal_rows_are_one_with_their_number_as_weight(self, squared: bool) -> None:
        X, y = near_line(40, 2, 6, missing=0.7)
        found = search(X, y, "mean", squared, gamma=0.1)
        assert len(found.X) < 30
        # The same machine as that of all rows, each with its own coefficient.
        alone = found._mixture([found.completed], np.ones(1))
        K = rbf_kernel(found.completed[found.group], gamma=0.3)
        every = Decision.of(K, y, np.ones(40), squared)
        assert alone.decision.value == pytest.approx(every.value, rel=1e-4)
        assert found._distance(found._drawn()) > 0
        result = found.run(5, 1, 1e-6, silent)
        empty = np.isnan(X).all(axis=1) & (y > 0)
        assert empty.sum() > 3
        assert np.ptp(result.c[empty]) == 0
        assert all(np.ptp(table[empty], axis=0).max() == 0 for table in result.tables)

    @pytest.mark.parametrize("squared", [False, True])
    def test_at_most_two_more_completions_than_rows_have_weight(self, squared: bool) -> None:
        X, y = near_line(4, 3, 8)
        y[:2] = 1.0, -1.0
        found = search(X, y, "mean", squared, gamma=0.01, C=10.0)
        rng = np.random.default_rng(0)
        tables = [np.where(np.isnan(X), rng.standard_normal(X.shape), X) for _ in range(15)]
        weights = rng.dirichlet(np.ones(15))
        c = rng.standard_normal(4)
        kept, left = found._reduced(tables, weights, c)
        assert len(kept) <= 6
        assert (left > 0).all()
        for measure in (
            lambda table: found._kernel(table) @ c,
            lambda table: np.array([found._distance(table)]),
        ):
            before = sum(w * measure(table) for w, table in zip(weights, tables, strict=True))
            after = sum(w * measure(table) for w, table in zip(left, kept, strict=True))
            assert after == pytest.approx(before)
        assert len(found.run(30, 2, 0.0, silent).tables) <= 6

    def test_it_ends_where_nothing_better_is_found(self) -> None:
        X, y = near_line(25, 3, 9)
        found = search(X, y, "gauss", True, gamma=10.0)
        result = found.run(200, 1, 1e-4, silent)
        assert result.converged
        assert len(result.objectives) < 50
        assert not found.run(1, 1, 0.0, silent).converged


class TestEstimators:
    @pytest.mark.parametrize("prior", PRIORS)
    def test_as_gamma_grows_it_is_the_single_imputation(self, prior: str) -> None:
        X, y = near_line(30, 3, 6)
        model = InfiniteImputationsClassifier(prior, C=1.0, gamma=1e6, width=0.3, scale=False).fit(X, y)
        single = model._prior
        machine = SVC(kernel="rbf", gamma=0.3, C=1.0).fit(single.completed, y)
        expected = machine.decision_function(single.points(X))
        assert model.decision_function(X) == pytest.approx(expected, abs=2e-3)
        assert len(model.imputations_[0].tables) <= 2

    def test_nothing_missing_is_the_plain_machine(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((20, 2))
        y = np.where(X[:, 0] > 0, 1, 0)
        model = InfiniteImputationsClassifier("meanfeat", C=1.0, width=0.5, scale=False).fit(X, y)
        machine = SVC(gamma=0.5, C=1.0, tol=1e-5).fit(X, y)
        assert model.decision_function(X) == pytest.approx(machine.decision_function(X), abs=1e-3)
        assert len(model.imputations_[0].tables) == 1

    @pytest.mark.parametrize("intercept", [False, True])
    def test_the_regression_has_an_intercept_if_asked(self, intercept: bool) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((20, 2)), rng.standard_normal(20) + 7
        off = y.mean() if intercept else 0.0
        model = InfiniteImputationsRegressor("gauss", C=2.0, width=0.5, scale=False, intercept=intercept)
        ridge = KernelRidge(alpha=1 / (2 * 2.0), kernel="rbf", gamma=0.5).fit(X, y - off)
        assert model.fit(X, y).predict(X) == pytest.approx(ridge.predict(X) + off)

    def test_the_constants_of_the_paper(self) -> None:
        # η and the weight of Q as [D] has them, from the objective that the docstring claims.
        X, y = near_line(15, 2, 7)
        C, gamma = 2.0, 0.3
        for squared in (False, True):
            found = search(X, y, "mean", squared, gamma=gamma, C=C)
            now = found._mixture([np.where(np.isnan(X), 0.5, X)], np.ones(1))
            c, b = now.decision.c, now.decision.b
            norm, scores = c @ now.K @ c, now.K @ c + b
            if squared:
                eta = 1 / (2 * C)
                theirs = ((y - scores) ** 2).sum() + eta * norm + gamma * now.Q
                assert found._objective(now) == pytest.approx(C * theirs)
            else:
                dual = (c / y).sum() - 0.5 * norm
                assert (c / y).max() <= C + 1e-9
                assert found._objective(now) == pytest.approx(dual + C * gamma * now.Q, rel=1e-4)

    def test_settings_are_chosen_from_sequences(self) -> None:
        X, y = near_line(40, 3, 10)
        model = InfiniteImputationsClassifier(
            "meanfeat", C=(0.1, 10.0), width=(0.1, 1.0), gamma=(0.1, 1e4), max_iter=3
        ).fit(X, y)
        assert model.C_ in (0.1, 10.0)
        assert model.width_ in (0.1, 1.0)
        assert model.gamma_ in (0.1, 1e4)
        again = InfiniteImputationsClassifier(
            "meanfeat", C=model.C_, width=model.width_, gamma=model.gamma_, max_iter=3
        ).fit(X, y)
        assert again.score(X, y) > 0.8
        few = InfiniteImputationsClassifier("mean", C=(3.0, 5.0), max_iter=1).fit(X[:12], y[:12])
        assert few.C_ in (3.0, 5.0)

    def test_held_out_rows_do_not_show_their_labels(self) -> None:
        # Even with labels shuffled, class means of held-out rows would separate them.
        rng = np.random.default_rng(0)
        X, y = near_line(200, 4, 11, missing=0.85)
        y = rng.permutation(y)
        model = InfiniteImputationsClassifier("class-mean", width=0.25, max_iter=0)
        errors = []
        for C in (0.01, 100.0):
            problem = model._problem(X, y[:, None], np.random.RandomState(0))
            prior = problem.prior("class-mean", 0.25, np.arange(100))
            K = rbf_kernel(prior.completed, gamma=0.25)
            decision = Decision.of(K, y[:100], np.full(100, C), False)
            later = rbf_kernel(prior.points(X[100:]), prior.completed, gamma=0.25) @ decision.c + decision.b
            errors.append(((later > 0) != (y[100:] > 0)).mean())
        assert min(errors) > 0.35

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"gamma": -1.0}, "gamma must be a number of 0 or more"),
            ({"gamma": ()}, "gamma must be a number of 0 or more, or several"),
            ({"width": 0.0}, "width must be a number above 0"),
            ({"C": (1.0, -1.0)}, "C must be a number above 0"),
            ({"prior": "median"}, "prior must be one of mean, class-mean"),
        ],
    )
    def test_wrong_settings_are_named(self, settings: dict[str, object], message: str) -> None:
        X, y = near_line(20, 2, 12)
        with pytest.raises(ValueError, match=message):
            InfiniteImputationsClassifier(**settings).fit(X, y)

    def test_progress_says_how_long_the_rest_may_take(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("streamkarma.baselines.progress.PAUSE", 0.0)
        X, y = near_line(30, 3, 13)
        model = InfiniteImputationsClassifier("mean", C=1.0, width=0.3, gamma=(0.1, 1.0), max_iter=3)
        model.set_params(verbose=True).fit(X, y)
        lines = capsys.readouterr().err.splitlines()
        # Three quarters with two values of gamma, and the search on all rows: 3 steps each at most.
        assert lines[0].startswith("InfiniteImputationsClassifier: 1 of 21 steps done at most, about ")
        assert "s left; objective" in lines[0]
        assert lines[-1].startswith("InfiniteImputationsClassifier: 21 of 21 steps done at most")


def test_the_prior_meanfeat_is_definition_1() -> None:
    X, y = near_line(30, 3, 14)
    expected = MeanFeatImputer(width=0.3, scale=False).fit_transform(X, y)
    assert np.array_equal(search(X, y, "meanfeat", False).completed, expected)
