"""What the privacy report says, in text and in HTML."""

from __future__ import annotations

import re
from html import unescape
from math import inf

import numpy as np
import pytest

from skdp import PrivPC
from skdp.datasets import load_bayesian_network
from skdp.privacy import LedgerEntry, PrivacyLedger, zcdp_from_pure
from skdp.report import PrivacyReport, composition_in_words, purchase_in_words

# Whether the rounds suffice depends on the noise, and does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyBudgetWarning")

NETWORK = load_bayesian_network("asia")
X = NETWORK.sample(20_000, random_state=0)


def fitted(*budget: float, **parameters) -> PrivPC:
    return PrivPC(*budget, schema=NETWORK.schema, **parameters).fit(X)


def section(text: str, title: str) -> list[str]:
    """List the items below a title of a report."""
    lines = text.split("\n")
    below = lines[lines.index(title) + 1 :]
    return [line[4:] for line in below[: [*below, ""].index("")]]


def laplace_entry(epsilon: float, count: int = 1) -> LedgerEntry:
    rho = count * zcdp_from_pure(epsilon)
    parts = ((epsilon, count),)
    total = epsilon * count
    return LedgerEntry("laplace", "n", 1.0, "L1", 2.0, total, rho, parts, "a count")


def report_on(epsilon: float, delta: float, *entries: LedgerEntry) -> PrivacyReport:
    ledger = PrivacyLedger(epsilon, delta)
    for entry in entries:
        ledger.spend(entry)
    return PrivacyReport(
        "Fit", epsilon, delta, ledger.total(), 9, ("<all>",), ledger.entries, ()
    )


def bought_by(*budget: float, **options) -> list[str]:
    model = fitted(*budget, sieve_share=0.5, **options)
    return section(str(model.privacy_report()), "Bought")


def test_what_was_bought_and_how_it_composes() -> None:
    assert bought_by(3.0, 1e-6) == [
        "28 rounds of a sieve (epsilon 0.0893 each) and an examination (0.0893 each); "
        "adding up would cost epsilon 5, optimal composition proves 3 at delta 1e-06"
    ]
    assert bought_by(1.0, max_deletions=20) == [
        "20 rounds of a sieve (epsilon 0.025 each) and an examination (0.025 each); "
        "adding up costs epsilon 1"
    ]


def test_one_round_and_prices_that_differ() -> None:
    model = fitted(1.0, max_deletions=1, sieve_share=0.25)
    (bought,) = section(str(model.privacy_report()), "Bought")
    assert bought.startswith("1 round of a sieve (epsilon 0.25 each) and an exam")
    assert "(0.75 each)" in bought


def test_several_purchases_and_none() -> None:
    entries = [laplace_entry(0.5), laplace_entry(0.25)]
    assert section(str(report_on(1.0, 0.0, *entries)), "Bought") == [
        "laplace: a count on n (epsilon 0.5)",
        "laplace: a count on n (epsilon 0.25)",
        "adding up costs epsilon 0.75",
    ]
    assert section(str(report_on(1.0, 0.0)), "Bought") == [
        "nothing: there was nothing to ask"
    ]


def test_the_rule_that_proves_the_total_is_named() -> None:
    many = [laplace_entry(0.01) for _ in range(400)]
    *_, how = section(str(report_on(2.0, 1e-6, *many)), "Bought")
    assert re.fullmatch(
        r"adding up would cost epsilon 4, zCDP composition proves \S+ at delta 1e-06",
        how,
    )
    gaussian = LedgerEntry("gaussian", "n", 1.0, "L2", 9.0, inf, 0.01, bought="a count")
    assert purchase_in_words(gaussian) == "gaussian: a count on n (rho 0.01)"
    (bought,) = section(str(report_on(1.0, 1e-6, gaussian)), "Bought")
    assert "; zCDP composition proves 0.6" in bought
    assert "inf" not in bought


def test_a_delta_of_its_own_is_shown() -> None:
    entry = LedgerEntry(
        "median", "m", 1.0, "smooth", 9.0, 0.5, 0.1, ((0.5, 1),), "one answer", 1e-7
    )
    assert "(epsilon 0.5, delta 1e-07)" in purchase_in_words(entry)
    assert composition_in_words([entry], 0.5, 1e-7) == "adding up costs epsilon 0.5"


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({}, "hyper-parameters: all have their defaults"),
        ({"epsilon": 1}, "hyper-parameters: all have their defaults"),
        (
            {"epsilon": 3.0, "alpha": 0.05, "verbose": 0},
            "hyper-parameters: epsilon=3.0, alpha=0.05; the others have their defaults",
        ),
    ],
)
def test_only_changed_hyper_parameters_are_shown(parameters, shown) -> None:
    assert shown in section(str(fitted(**parameters).privacy_report()), "Public")


@pytest.mark.parametrize("seed", [987_654, np.random.RandomState(987_654)])
def test_the_seed_stays_hidden(seed) -> None:
    text = str(fitted(random_state=seed).privacy_report())
    assert "random_state=a seed (not shown)" in text
    assert "987654" not in text and "RandomState(" not in text


def test_text_and_html_say_the_same() -> None:
    for report in (
        fitted(3.0, 1e-6, sieve_share=0.5).privacy_report(),
        report_on(1.0, 0.0, laplace_entry(0.5), laplace_entry(0.25)),
    ):
        markup = report._repr_html_()
        assert "<all>" not in markup
        items = re.findall(r"<dt><b>(.*?)</b></dt><dd>(.*?)</dd>", markup)
        for title, body in items:
            assert section(str(report), title) == unescape(body).split("<br>")
        assert [title for title, _ in items] == [
            "Guarantee", "Spent", "Bought", "Public", "Warnings",
        ]  # fmt: skip
