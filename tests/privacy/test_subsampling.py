"""The paper's size of a sub-sample."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.privacy import base_epsilon, least_noise_fraction


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0])
def test_needs_the_least_noise(epsilon) -> None:
    fractions = np.linspace(0.05, 1.0, 2000)
    noise = [q**-0.5 / base_epsilon(epsilon, q) for q in fractions]
    chosen = least_noise_fraction(epsilon)
    assert 0.05 <= chosen <= 1
    assert chosen**-0.5 / base_epsilon(epsilon, chosen) <= min(noise) * (1 + 1e-9)


def test_never_improves_signal_over_noise() -> None:
    for epsilon in (0.02, 0.3, 1.0, 5.0):
        signal = [q * base_epsilon(epsilon, q) for q in np.linspace(0.01, 1, 200)]
        assert np.all(np.diff(signal) > 0)
