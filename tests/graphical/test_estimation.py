"""Estimates against generic convex solvers on the table over all columns."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize, nnls
from sklearn.exceptions import ConvergenceWarning

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import (
    Domain,
    Identity,
    Kronecker,
    LinearMeasurement,
    Matrix,
    estimate,
    estimation,
    fit_potentials,
    prefix,
    ranges,
    weighted,
)

DOMAIN = Domain(("a", "b", "c"), (3, 4, 2))
N = 200.0
TRUTH = np.random.default_rng(7).dirichlet(np.full(24, 0.4)).reshape(3, 4, 2) * N


def margin(columns):
    """The matrix that sums the full table to some columns, in their order."""
    cells = np.eye(24).reshape(24, *DOMAIN.sizes)
    axes = [DOMAIN.axis(name) for name in columns]
    other = tuple(i for i in range(3) if i not in axes)
    kept = [i for i in range(3) if i in axes]
    summed = cells.sum(axis=tuple(i + 1 for i in other))
    order = [kept.index(i) + 1 for i in axes]
    return summed.transpose([0, *order]).reshape(24, -1).T


def measure(columns, sigma, seed, query=None):
    rng = np.random.default_rng(seed)
    exact = margin(columns) @ TRUTH.ravel()
    exact = exact if query is None else query.dot(exact)
    noisy = exact + sigma * rng.normal(size=len(exact))
    answer = noisy.reshape(DOMAIN.shape(columns)) if query is None else noisy
    return LinearMeasurement(columns, answer, sigma, query)


ONE_WAY = [measure((name,), 6.0, i) for i, name in enumerate("abc")]
TREE = [*ONE_WAY, measure(("a", "b"), 4.0, 3), measure(("c", "b"), 9.0, 4)]
SETS = {
    "tree": TREE,
    "loop": [*TREE, measure(("a", "c"), 3.0, 5)],
    "no one-ways": [measure(("b", "a"), 4.0, 6), measure(("b", "c"), 4.0, 7)],
    "all": [measure(("c", "a", "b"), 5.0, 8)],
    "twice": [*TREE, measure(("b", "a"), 2.0, 9), measure(("a",), 1.0, 10)],
    "prefix": [
        *ONE_WAY,
        measure(("b",), 3.0, 11, prefix(4)),
        measure(("b", "a"), 5.0, 12, Kronecker([prefix(4), Identity(3)])),
    ],
    "range": [
        measure(
            ("a", "b"), 5.0, 13, Kronecker([ranges(3), ranges(4, [(0, 1), (1, 3)])])
        ),
        measure(("c",), 2.0, 14),
    ],
    "weighted": [
        measure(("a", "c"), 3.0, 15, weighted(Identity(6), [1, 2, 3, 1, 2, 0.5])),
        measure(("b",), 3.0, 16, weighted(prefix(4), [2.0, 1.0, 1.0, 0.3])),
        measure(
            ("b", "c"), 2.0, 17, Matrix(sp.random_array((5, 8), density=0.5, rng=1))
        ),
    ],
}


def system(measurements):
    """All answers as one matrix on the full table: rows, answers and sigma."""
    rows, answers, sigma = [], [], []
    for m in measurements:
        query = np.eye(DOMAIN.n_cells(m.columns))
        if m.query is not None:
            query = np.array([m.query.dot(unit) for unit in query]).T
        rows.append(query @ margin(m.columns))
        answers.append(m.answer.ravel())
        sigma.append(np.full(m.answer.size, m.sigma))
    return np.vstack(rows), np.concatenate(answers), np.concatenate(sigma)


def full_table(fit):
    model = fit.model()
    return model.marginal(DOMAIN.names).ravel()


def l2(measurements, p):
    rows, answers, sigma = system(measurements)
    return float(np.sum(((rows @ p - answers) / sigma) ** 2)) / 2.0


def smallest_l2(measurements, allowed=None):
    """Non-negative least squares, the total as a heavy row."""
    rows, answers, sigma = system(measurements)
    heavy = 1e5
    rows = np.vstack([rows / sigma[:, None], heavy * np.ones(24)])
    rows = rows if allowed is None else rows * allowed
    p, _ = nnls(rows, np.append(answers / sigma, heavy * N), maxiter=10_000)
    return l2(measurements, p)


def penalised(measurements, tau, base, near):
    """L2 + tau KL over the full table; `near` saves the solver most of its way."""
    rows, answers, sigma = system(measurements)
    inside = base > 0
    base = base[inside] / base.sum() * N
    start = np.maximum(0.9 * near[inside] + 0.1 * base, 1e-6)
    rows = rows[:, inside]

    def objective(p):
        residual = (rows @ p - answers) / sigma**2
        logs = np.log(p / base)
        value = residual @ (rows @ p - answers) / 2 + tau * p @ logs
        return value, rows.T @ residual + tau * (logs + 1)

    found = minimize(
        objective,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, None)] * len(base),
        constraints={"type": "eq", "fun": lambda p: p.sum() - N, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun


def base_of(measurements, zeros=None):
    """The base distribution, from the potentials at an enormous tau."""
    fit = fit_potentials(measurements, DOMAIN, N, tau=1e9, structural_zeros=zeros)
    return full_table(fit)


@pytest.mark.parametrize(
    ("name", "tau"),
    [(name, "auto") for name in SETS]
    + [pytest.param(name, 0.02, marks=pytest.mark.slow) for name in SETS],
)
def test_the_penalised_optimum_is_that_of_a_generic_solver(name, tau):
    fit = fit_potentials(SETS[name], DOMAIN, N, tau=tau, gap_tol=1e-9)
    expected = penalised(SETS[name], fit.tau, base_of(SETS[name]), full_table(fit))
    assert fit.objective == pytest.approx(expected, rel=1e-6)
    assert fit.loss == pytest.approx(l2(SETS[name], full_table(fit)), rel=1e-8)
    assert fit.gap <= 1e-9 * fit.n_answers / 2


@pytest.mark.parametrize("name", SETS)
def test_the_unpenalised_optimum_is_that_of_a_generic_solver(name):
    expected = smallest_l2(SETS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_potentials(SETS[name], DOMAIN, N, tau=0, gap_tol=1e-9)
    assert fit.loss == pytest.approx(expected, rel=1e-6)
    # The certificate holds: no distribution lies below the bound.
    assert fit.loss - fit.gap <= expected * (1 + 1e-9)
    assert fit.solver == (
        "forest" if name in ("tree", "twice", "no one-ways", "all") else "accelerated"
    )


@pytest.mark.parametrize("solver", ["accelerated", "mirror_descent", "dual_averaging"])
@pytest.mark.parametrize("name", ["tree", "loop", "prefix"])
def test_first_order_solvers_come_close_and_say_how_close(solver, name):
    expected = smallest_l2(SETS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_potentials(
            SETS[name], DOMAIN, N, solver=solver, gap_tol=1e-4, max_iter=1500
        )
    assert expected * (1 - 1e-9) <= fit.loss <= expected * 1.002
    assert fit.loss - fit.gap <= expected * (1 + 1e-9)
    assert fit.loss == pytest.approx(l2(SETS[name], full_table(fit)), rel=1e-7)


ZEROS = {("b", "a"): np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 1]], dtype=bool)}


@pytest.mark.parametrize("name", ["tree", "loop", "prefix"])
def test_structural_zeros_stay_zero_and_the_rest_is_optimal(name):
    closed = margin(("b", "a")).T @ ZEROS["b", "a"].ravel() > 0
    fit = fit_potentials(SETS[name], DOMAIN, N, structural_zeros=ZEROS, gap_tol=1e-9)
    table = full_table(fit)
    assert (table[closed] == 0).all() and (table[~closed] > 0).all()
    expected = penalised(SETS[name], fit.tau, base_of(SETS[name], ZEROS), table)
    assert fit.objective == pytest.approx(expected, rel=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact = fit_potentials(
            SETS[name], DOMAIN, N, tau=0, structural_zeros=ZEROS, gap_tol=1e-9
        )
    assert exact.loss == pytest.approx(smallest_l2(SETS[name], ~closed), rel=1e-6)


def test_zeros_that_leave_nothing_are_refused():
    everything = {("a",): np.ones(3, dtype=bool)}
    with pytest.raises(ValueError, match="no record possible"):
        estimate(TREE, DOMAIN, N, structural_zeros=everything)
    with pytest.raises(ValueError, match="array of booleans"):
        estimate(TREE, DOMAIN, N, structural_zeros={("a",): np.ones(3)})


@pytest.mark.parametrize("name", ["tree", pytest.param("loop", marks=pytest.mark.slow)])
def test_entropy_is_maximal_among_the_minimisers(name):
    """Iterative proportional fitting of the optimal marginals, from uniform."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_potentials(SETS[name], DOMAIN, N, tau=0, gap_tol=1e-10)
    p = np.full(24, N / 24)
    for _ in range(3000):
        for columns, marginal in fit.marginals.items():
            onto = margin(columns)
            now = onto @ p
            ratio = np.divide(
                marginal.ravel(), now, out=np.zeros_like(now), where=now > 0
            )
            p *= onto.T @ ratio
    assert np.abs(p - full_table(fit)).max() < (1e-5 if name == "tree" else 0.05)


def l1(measurements, p):
    rows, answers, sigma = system(measurements)
    return float(np.sum(np.abs(rows @ p - answers) / sigma))


@pytest.mark.parametrize(
    "name",
    [
        "prefix",
        pytest.param("tree", marks=pytest.mark.slow),
        pytest.param("loop", marks=pytest.mark.slow),
    ],
)
def test_the_l1_optimum_is_that_of_a_linear_program(name):
    rows, answers, sigma = system(SETS[name])
    m = len(answers)
    cost = np.concatenate([np.zeros(24), np.ones(m)])
    scaled = rows / sigma[:, None]
    upper = np.block([[scaled, -np.eye(m)], [-scaled, -np.eye(m)]])
    limits = np.concatenate([answers / sigma, -answers / sigma])
    total = np.concatenate([np.ones(24), np.zeros(m)])[None]
    expected = linprog(cost, upper, limits, total, [N]).fun
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_potentials(
            SETS[name], DOMAIN, N, tau=0, loss="l1", gap_tol=1e-3, max_iter=5000
        )
    assert expected <= fit.loss * (1 + 1e-9) <= expected * 1.001
    assert fit.loss - fit.gap <= expected * (1 + 1e-9)
    assert fit.loss == pytest.approx(l1(SETS[name], full_table(fit)), rel=1e-7)


@pytest.mark.parametrize(
    "name", ["weighted", pytest.param("loop", marks=pytest.mark.slow)]
)
def test_the_penalised_l1_optimum_is_that_of_a_generic_solver(name):
    rows, answers, sigma = system(SETS[name])
    fit = fit_potentials(SETS[name], DOMAIN, N, tau=0.05, loss="l1", gap_tol=2e-7)
    base = base_of(SETS[name])
    scaled, m = rows / sigma[:, None], len(answers)

    def objective(x):
        p = np.maximum(x[:24], 1e-300)
        logs = np.log(p / base)
        value = x[24:].sum() + 0.05 * p @ logs
        return value, np.concatenate([0.05 * (logs + 1), np.ones(m)])

    upper = np.block([[-scaled, np.eye(m)], [scaled, np.eye(m)]])
    limits = np.concatenate([-answers / sigma, answers / sigma])
    slack = np.abs(scaled @ base - answers / sigma)
    found = minimize(
        objective,
        np.concatenate([base, slack]),
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, None)] * (24 + m),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda x: upper @ x - limits,
                "jac": lambda x: upper,
            },
            {"type": "eq", "fun": lambda x: x[:24].sum() - N},
        ],
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    assert found.success
    assert fit.objective == pytest.approx(found.fun, rel=1e-6)
    assert fit.gap <= 2e-7 * m / 2


def test_a_custom_loss_reaches_the_optimum_of_the_same_l2_loss():
    measured = {m.columns: m for m in SETS["loop"]}

    def loss(marginals):
        value, gradients = 0.0, {}
        for columns, table in marginals.items():
            found = measured.get(columns, measured.get(columns[::-1]))
            answer = found.answer if found.columns == columns else found.answer.T
            residual = (table - answer) / found.sigma**2
            value += float(np.sum(residual * (table - answer))) / 2
            gradients[columns] = residual
        return value, gradients

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_potentials(
            [], DOMAIN, N, loss=loss, cliques=list(measured), max_iter=600
        )
    assert fit.loss == pytest.approx(smallest_l2(SETS["loop"]), rel=2e-3)
    assert fit.solver == "accelerated" and fit.tau == 0


def test_a_log_likelihood_as_custom_loss():
    """Linear minus log-sum-exp, as of DualQuery: the optimum by a generic solver."""
    counts = np.array([[3.0, 0.0], [1.0, 2.0], [4.0, 1.0]])

    def loss(marginals):
        table = marginals["a", "c"] / N
        weights = np.exp(table)
        value = -float(np.sum(counts * (table - np.log(weights.sum()))))
        gradient = (-counts + counts.sum() * weights / weights.sum()) / N
        return value, {("a", "c"): gradient}

    fit = fit_potentials(
        [], DOMAIN, N, loss=loss, cliques=[("c", "a")], gap_tol=2e-6, max_iter=5000
    )
    found = minimize(
        lambda p: loss({("a", "c"): N * p.reshape(3, 2)})[0],
        np.full(6, 1 / 6),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert fit.loss == pytest.approx(found.fun, rel=1e-6)
    assert fit.gap <= 1e-6


def test_a_warm_start_saves_calls_and_changes_nothing():
    first = fit_potentials(TREE, DOMAIN, N)
    more = [*TREE, measure(("a", "c"), 3.0, 5)]
    cold = fit_potentials(more, DOMAIN, N, gap_tol=1e-8)
    warm = fit_potentials(more, DOMAIN, N, gap_tol=1e-8, warm_start=first)
    again = fit_potentials(more, DOMAIN, N, gap_tol=1e-8, warm_start=warm)
    assert again.n_oracle_calls == 2 < warm.n_oracle_calls
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    assert np.abs(full_table(warm) - full_table(cold)).max() < 1e-2


def test_the_order_of_columns_and_measurements_does_not_matter():
    turned = [
        LinearMeasurement(m.columns[::-1], m.answer.T, m.sigma) for m in reversed(TREE)
    ]
    fits = [fit_potentials(m, DOMAIN, N, gap_tol=1e-9) for m in (TREE, turned)]
    assert fits[0].objective == pytest.approx(fits[1].objective, rel=1e-8)
    assert np.abs(full_table(fits[0]) - full_table(fits[1])).max() < 1e-3


def test_a_scaled_query_with_scaled_noise_is_the_same_measurement():
    scaled = [
        LinearMeasurement(
            m.columns,
            10 * m.answer.ravel(),
            10 * m.sigma,
            weighted(Identity(m.answer.size), 10.0),
        )
        for m in TREE
    ]
    fits = [fit_potentials(m, DOMAIN, N, gap_tol=1e-9) for m in (TREE, scaled)]
    assert fits[0].tau == pytest.approx(fits[1].tau)
    assert fits[0].loss == pytest.approx(fits[1].loss, rel=1e-6)


def test_the_default_pull_is_weak_where_the_answers_are_clear():
    clear = [LinearMeasurement(("a",), [160.0, 35.0, 5.0], 2.0)]
    hidden = [LinearMeasurement(("a",), [197.0, 3.5, -2.0], 2.0)]
    taus = [fit_potentials(m, DOMAIN, N).tau for m in (clear, hidden)]
    assert taus == pytest.approx([0.1 / 2, (2 / 3) / 2])


def test_columns_without_measurement_are_uniform():
    model = estimate([measure(("a",), 2.0, 0)], DOMAIN, N)
    assert np.allclose(model.marginal(("b", "c")), N / 8)


def test_a_gap_above_the_tolerance_is_named():
    with pytest.warns(ConvergenceWarning, match="certified gap of"):
        fit = fit_potentials(SETS["loop"], DOMAIN, N, gap_tol=1e-8, max_iter=1)
    assert fit.gap > 1e-8 * fit.n_answers / 2


def test_the_model_is_refused_before_anything_is_allocated():
    names = tuple(f"v{i}" for i in range(12))
    domain = Domain(names, (100,) * 12)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    zeros = np.zeros((100, 100))
    measurements = [LinearMeasurement(pair, zeros, 1.0) for pair in pairs]
    with pytest.raises(ModelTooLargeError, match=r"\('v1', 'v0'\)"):
        estimate(measurements, domain, N)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": -1.0}, "tau must be"),
        ({"tau": "some"}, "tau must be"),
        ({"solver": "best"}, "unknown"),
        ({"solver": "newton", "tau": 0}, "needs tau > 0"),
        ({"solver": "mirror_descent", "tau": 1.0}, "needs tau=0"),
        ({"solver": "newton", "loss": "l1"}, "needs solver='lbfgs'"),
        ({"solver": "forest"}, "form a forest"),
        ({"loss": "l3"}, "loss must be"),
        ({"base": "flat"}, "base must be"),
        ({"gap_tol": 0.0}, "gap_tol must be"),
    ],
)
def test_parameters_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        estimate(SETS["loop"], DOMAIN, N, **options)


def test_measurements_that_do_not_fit_are_refused():
    bad = {
        "no column 'z'": LinearMeasurement(("z",), [1.0], 1.0),
        "has shape": LinearMeasurement(("a",), [1.0, 2.0], 1.0),
        "4 columns": LinearMeasurement(("a",), [1.0] * 4, 1.0, prefix(4)),
    }
    for message, measurement in bad.items():
        with pytest.raises(ValueError, match=message):
            estimate([measurement], DOMAIN, N)
    with pytest.raises(ValueError, match="nothing to estimate from"):
        estimate([], DOMAIN, N)
    with pytest.raises(ValueError, match="n_records"):
        estimate(TREE, DOMAIN, 0)
    with pytest.raises(ValueError, match="transposed|has shape"):
        estimate([LinearMeasurement(("a", "b"), np.ones((4, 3)), 1.0)], DOMAIN, N)


def test_an_impossible_measurement_is_refused_when_it_is_written_down():
    with pytest.raises(ValueError, match="sigma"):
        LinearMeasurement(("a",), [1.0], 0.0)
    with pytest.raises(ValueError, match="finite"):
        LinearMeasurement(("a",), [np.nan], 1.0)
    with pytest.raises(ValueError, match="at least one column"):
        LinearMeasurement((), [1.0], 1.0)
    with pytest.raises(ValueError, match="twice"):
        LinearMeasurement(("a", "a"), [1.0], 1.0)


def test_merged_levels_do_not_make_a_model_too_large(monkeypatch):
    # Fewer levels may mislead the search for an order: then all of them are kept.
    domain = Domain(("a", "b"), (4, 2))
    halves = np.repeat(np.eye(2), 2, axis=1)
    noisy = [
        LinearMeasurement(("a",), [60.0, 40.0], 1.0, halves),
        LinearMeasurement(("b",), [30.0, 70.0], 1.0),
    ]
    merged = fit_potentials(noisy, domain, 100)
    assert merged.merging.classes

    def refusing(domain, cliques, max_model_size):
        raise ModelTooLargeError("A table would have too many cells.")

    monkeypatch.setattr(estimation, "plan_once", refusing)
    found = fit_potentials(noisy, domain, 100)
    assert not found.merging.classes
    for clique, table in merged.marginals.items():
        np.testing.assert_allclose(found.marginals[clique], table, atol=0.1)
