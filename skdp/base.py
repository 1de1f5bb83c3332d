"""What all private estimators share: budget, curator, ledger and report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from skdp._sklearn import (
    BaseEstimator,
    Interval,
    clone_parametrized,
    estimator_html_repr,
)
from skdp.exceptions import BudgetExceededError
from skdp.privacy import (
    Curator,
    PrivacyLedger,
    accountant_is_active,
    note_seed,
    process_token,
    seed_of,
)
from skdp.report import PrivacyReport

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix, CountTable

__all__ = ["PrivateEstimator", "all_or_nothing"]


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Undo whatever a failing fit did to an estimator, except its ledger.

    Parameters
    ----------
    estimator : estimator
        The estimator; a ledger that has paid for something survives the failure.

    Yields
    ------
    None
        To the body of the fit.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        ledger = vars(estimator).get("ledger_")
        vars(estimator).clear()
        vars(estimator).update(before)
        if ledger is not None and len(ledger):
            estimator.ledger_ = ledger
        raise


class PrivateEstimator(BaseEstimator):
    """Base of the estimators with a differential-privacy guarantee.

    A subclass has the parameters `epsilon`, `delta` and `random_state`. Its `fit`
    validates, then calls `_open_curator` and asks the curator; all that follows is
    post-processing.

    Attributes
    ----------
    ledger_ : PrivacyLedger
        What the fit bought. Set before the first purchase; the one attribute that
        survives a failed fit.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, 1e100, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    ledger_: PrivacyLedger
    _report: PrivacyReport

    def privacy_report(self) -> PrivacyReport:
        """Report the guarantee, what is public, and what the budget bought.

        The report is that of the fit whose results the estimator holds: written when it
        ended, whatever parameters were set since, and whatever a later fit cost that
        failed (see ``ledger_``).

        Returns
        -------
        PrivacyReport
            Prints as text and shows as HTML in notebooks.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self._report

    def _write_report(self) -> None:
        """Write the report of this fit, with the parameters that it ran under."""
        ledger = self.ledger_
        self._report = PrivacyReport(
            estimator=type(self).__name__,
            epsilon=ledger.epsilon,
            delta=ledger.delta,
            spent=ledger.total(),
            n_records=self.n_records_,
            public=self._public_facts(),
            entries=ledger.entries,
            warnings=tuple(self._privacy_warnings()),
        )

    def _open_curator(
        self, records: CountTable | BoundedMatrix, failure: float = 0.0
    ) -> Curator:
        """Hand the records to a curator with a new ledger for the whole budget.

        `failure` is the part of delta for mechanisms that have a delta of their own.
        """
        self._refuse_other_process()
        self.ledger_ = PrivacyLedger(
            float(self.epsilon), float(self.delta), failure=failure
        )
        self.n_records_ = records.n_records
        seed = seed_of(self.random_state)
        if seed is not None:
            note_seed(seed)
        return Curator(records, self.ledger_, seed)

    def _public_facts(self) -> tuple[str, ...]:
        changed = {
            name: getattr(self, name)
            for name, parameter in signature(type(self)).parameters.items()
            if name not in ("schema", "bounds")
            and getattr(self, name) != parameter.default
        }
        if self.random_state is not None:
            changed["random_state"] = "a seed (not shown)"
        shown = ", ".join(f"{name}={value}" for name, value in changed.items())
        if shown:
            shown += "; the others have"
        else:
            shown = "all have"
        return (
            f"schema: {self.schema_!r}",
            f"hyper-parameters: {shown} their defaults",
        )

    def _privacy_warnings(self) -> Iterator[str]:
        if self.random_state is not None:
            yield (
                "random_state is set: whoever knows the seed can subtract the noise, "
                "which voids the guarantee. It travels with pickles of the estimator."
            )
        if self._frame_categories:
            names = ", ".join(repr(name) for name in self._frame_categories)
            yield (
                f"The levels of {names} are the categories of the frame's columns: "
                "public only if they were declared and not read off the records, as "
                "astype('category') does."
            )
        if self.inferred_columns_:
            names = ", ".join(repr(name) for name in self.inferred_columns_)
            yield (
                f"The levels of {names} were read off the records, which the guarantee "
                "does not cover; pass schema=."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return any(
            name.endswith("_") and not name.startswith("__") and name != "ledger_"
            for name in vars(self)
        )

    def _html_repr(self) -> str:
        """Show the diagram of scikit-learn, and below it the report of a fit."""
        diagram = str(estimator_html_repr(self))
        if not self.__sklearn_is_fitted__():
            return diagram
        summary = "<summary>Privacy report</summary>"
        report = self._report._repr_html_()
        return f"{diagram}<details>{summary}{report}</details>"

    # An estimator that leaves the process of an active BudgetAccountant carries a mark,
    # so that it cannot spend where nobody counts.

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if accountant_is_active():
            state["_accounted_in"] = process_token()
        return state

    def __sklearn_clone__(self) -> Self:
        copy = clone_parametrized(self)
        mark = vars(self).get("_accounted_in")
        if mark is not None:
            copy._accounted_in = mark
        return copy

    def _refuse_other_process(self) -> None:
        home = vars(self).get("_accounted_in")
        if home is not None and home != process_token():
            raise BudgetExceededError(
                f"This {type(self).__name__} was sent here by a process with an active "
                "BudgetAccountant, which cannot see what is spent in another process. "
                "Fit in threads (joblib's backend 'threading') or with n_jobs=1."
            )
