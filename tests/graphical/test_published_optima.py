"""The optima of two measured cases on Adult, and others certified by their gap."""

import json
import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skdp.graphical import Domain, LinearMeasurement, fit_potentials

N = 48842


@pytest.fixture
def case(shared_data):
    def read(name):
        about = json.loads(shared_data(f"pgm_cases/{name}.json").read_text())
        arrays = np.load(shared_data(f"pgm_cases/{name}.npz"))
        domain = Domain(tuple(about["domain"]), tuple(about["domain"].values()))
        measurements = [
            LinearMeasurement(tuple(clique), arrays[f"y{k}"], about["sigma"])
            for k, clique in enumerate(about["cliques"])
        ]
        return domain, measurements

    return read


@pytest.fixture
def adult(shared_data):
    domain = json.loads(shared_data("adult-domain.json").read_text())
    path = shared_data("adult.csv")
    records = np.loadtxt(path, delimiter=",", skiprows=1, dtype=int)
    return Domain(tuple(domain), tuple(domain.values())), records


@pytest.mark.parametrize(
    ("name", "loss"), [("case_a_tree13", 16_369.1), ("case_b_rand14", 11_503.7)]
)
def test_the_regularised_optimum(case, name, loss):
    domain, measurements = case(name)
    fit = fit_potentials(measurements, domain, N, tau=1 / 50, gap_tol=1e-6)
    assert fit.loss == pytest.approx(loss, abs=0.5)
    assert fit.gap <= 1e-6 * fit.n_answers / 2
    assert fit.n_oracle_calls < 300


def test_the_default_strength_is_about_one_over_sigma_where_noise_hides_most(case):
    domain, measurements = case("case_a_tree13")
    fit = fit_potentials(measurements, domain, N)
    assert 0.9 / 50 <= fit.tau <= 1 / 50


def test_the_exact_optimum_on_a_tree(case):
    domain, measurements = case("case_a_tree13")
    fit = fit_potentials(measurements, domain, N, tau=0, gap_tol=1e-6)
    assert fit.solver == "forest"
    assert fit.loss == pytest.approx(15_933.3159, abs=1e-3)
    # Measured pairs and single columns (which may count zero themselves).
    zeros = sum(int((t == 0).sum()) for c, t in fit.marginals.items() if len(c) == 2)
    assert zeros == pytest.approx(31_034, rel=0.005)
    for columns, marginal in fit.marginals.items():
        assert np.allclose(fit.model().marginal(columns), marginal, atol=1e-6)


def test_the_exact_optimum_on_a_loopy_graph_is_bracketed(case):
    domain, measurements = case("case_b_rand14")
    fit = fit_potentials(measurements, domain, N, tau=0, gap_tol=2e-4)
    assert fit.solver == "accelerated"
    assert 11_040.9 <= fit.loss <= 11_044
    assert fit.loss - fit.gap == pytest.approx(11_040.9476, abs=1e-3)


def test_columns_that_were_never_measured_alone(adult):
    """All pairs of six columns: the bound stays a bound without one-way answers."""
    domain, records = adult
    small = ("sex", "race", "relationship", "marital-status", "workclass", "income>50K")
    rng = np.random.default_rng(0)
    measurements = []
    for pair in combinations(small, 2):
        shape = domain.shape(pair)
        columns = [records[:, domain.axis(name)] for name in pair]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(columns), 1)
        noisy = counts + 50 * rng.normal(size=shape)
        measurements.append(LinearMeasurement(pair, noisy, 50.0))
    fit = fit_potentials(measurements, domain, N, gap_tol=1e-6)
    assert fit.gap <= 1e-6 * fit.n_answers / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact = fit_potentials(measurements, domain, N, tau=0, max_iter=300)
    assert 0 <= exact.gap <= 0.03 * exact.loss
    assert exact.loss < fit.loss
