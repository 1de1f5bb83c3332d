"""What a display of a covariance draws and marks."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import NotFittedError

from skdp import PaceGGMCovariance
from skdp.plotting import CovarianceDisplay

pytest.importorskip("matplotlib").use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

COVARIANCE = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, -0.5], [0.0, -0.5, 1.0]])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def dots(display):
    return [c for c in display.ax_.collections if c.get_gid() == "measured"]


def saved(display):
    display.figure_.savefig(io.BytesIO(), format="png")
    return display


def test_draws_the_matrix_in_symmetric_colours():
    display = saved(CovarianceDisplay(COVARIANCE).plot())
    assert np.array_equal(display.image_.get_array(), COVARIANCE)
    assert display.image_.get_clim() == (-4, 4)
    assert display.axes_ == (display.ax_,)
    assert display.figure_ is display.ax_.figure
    assert not dots(display)


def test_marks_the_measured_entries():
    measured = COVARIANCE != 0
    display = saved(CovarianceDisplay(COVARIANCE, measured=measured).plot())
    (marks,) = dots(display)
    places = {(int(y), int(x)) for x, y in marks.get_offsets()}
    assert places == set(zip(*np.nonzero(measured), strict=True))
    # The entry of 4 is dark, so that its dot is light.
    light = marks.get_facecolors()[:, 0] == 1
    assert light.tolist() == [True] + 6 * [False]
    assert not dots(CovarianceDisplay(COVARIANCE, measured=np.ones((3, 3))).plot())


def test_the_truth_is_beside_it_in_the_same_colours():
    display = saved(CovarianceDisplay(COVARIANCE, truth=2 * COVARIANCE).plot())
    one, two = (axes.images[0] for axes in display.axes_)
    assert np.array_equal(two.get_array(), 2 * COVARIANCE)
    assert one.get_clim() == two.get_clim() == (-8, 8)
    assert [axes.get_title() for axes in display.axes_] == ["estimate", "truth"]


def test_correlations_have_no_units():
    units = np.outer([1, 100, 0], [1, 100, 0])
    display = saved(CovarianceDisplay(COVARIANCE * units).plot(correlation=True))
    expected = np.array([[1.0, 0.5, 0], [0.5, 1.0, 0], [0, 0, 0]])
    assert np.allclose(display.image_.get_array(), expected)
    assert display.image_.get_clim() == (-1, 1)


def test_draws_where_it_is_told():
    figure, axes = plt.subplots(1, 2)
    display = CovarianceDisplay(COVARIANCE, truth=COVARIANCE).plot(axes)
    assert display.axes_ == tuple(axes) and display.figure_ is figure
    assert saved(CovarianceDisplay(COVARIANCE).plot(axes[0])).ax_ is axes[0]
    with pytest.raises(ValueError, match="2 axes are needed, got 1"):
        CovarianceDisplay(COVARIANCE, truth=COVARIANCE).plot(axes[0])


def test_from_a_fitted_estimator():
    X = np.sign(np.random.default_rng(0).standard_normal((500, 12)))
    frame = pd.DataFrame(X, columns=[f"$a_{i}" for i in range(12)])
    model = PaceGGMCovariance(0.5, bounds=1.0, random_state=0).fit(frame)
    truth = np.eye(12)
    display = saved(
        CovarianceDisplay.from_estimator(
            model, truth=truth, title="$x$", correlation=True
        )
    )
    (marks,) = dots(display)
    assert len(marks.get_offsets()) == model.measured_.sum() < 144
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == list(frame)
    assert display.ax_.get_title() == "$x$"
    plain = CovarianceDisplay.from_estimator(EmpiricalCovariance().fit(X))
    assert not dots(saved(plain))
    with pytest.raises(NotFittedError):
        CovarianceDisplay.from_estimator(PaceGGMCovariance())


def test_large_and_empty_matrices():
    assert len(saved(CovarianceDisplay(np.eye(200)).plot()).ax_.images) == 1
    assert saved(CovarianceDisplay(np.zeros((1, 1))).plot()).image_.get_clim() == (
        -1,
        1,
    )


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match="square matrix"):
        CovarianceDisplay(np.ones((2, 3)))
    with pytest.raises(ValueError, match="truth must have the shape"):
        CovarianceDisplay(COVARIANCE, truth=np.eye(2))
    with pytest.raises(ValueError, match="measured must have the shape"):
        CovarianceDisplay(COVARIANCE, measured=np.eye(2))
    with pytest.raises(ValueError, match="2 names for 3 features"):
        CovarianceDisplay(COVARIANCE, names=["a", "b"])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        CovarianceDisplay(COVARIANCE).plot()
