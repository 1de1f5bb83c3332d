"""What every selection strategy is: it decides what to measure, and sees no records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from skdp._sklearn import BaseEstimator
from skdp.graphical import Domain, Model
from skdp.graphical.plan import make_plan
from skdp.graphical.size import check_table
from skdp.pgm.session import Session
from skdp.pgm.workload import Workload
from skdp.queries import Marginal, PublicFacts

__all__ = ["Strategy", "one_way", "refuse_large_model", "varying_columns"]


class Strategy(BaseEstimator, ABC):
    """Base of the strategies: scikit-learn objects with parameters and nothing else.

    A strategy holds no state of a run, so that one object can serve many fits.
    """

    #: Whether the workload decides what is measured.
    uses_workload: ClassVar[bool] = True

    @abstractmethod
    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse, before anything is spent, what could not be carried out.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        workload : Workload or None
            The marginals that matter to the user.
        max_model_size : float
            Largest number of cells of a model.

        Raises
        ------
        ValueError
            If a parameter does not fit the schema.
        ModelTooLargeError
            If a table or a model would be too large.
        """

    @abstractmethod
    def run(self, session: Session) -> Model:
        """Spend the budget of a session and return the model.

        Parameters
        ----------
        session : Session
            All that may be touched.

        Returns
        -------
        Model
            Made of what was answered.
        """


def varying_columns(public: PublicFacts) -> list[str]:
    """Return the columns of more than one level; the others are known.

    Parameters
    ----------
    public : PublicFacts
        Number of records and schema.

    Returns
    -------
    list of str
        Their names, in order.
    """
    return [column.name for column in public.schema if column.n_levels > 1]


def one_way(columns: Sequence[str]) -> list[Marginal]:
    """Return the marginal of each column.

    Parameters
    ----------
    columns : sequence of str
        Names.

    Returns
    -------
    list of Marginal
        One each.
    """
    return [Marginal((name,)) for name in columns]


def refuse_large_model(
    cliques: Sequence[tuple[str, ...]], public: PublicFacts, max_model_size: float
) -> None:
    """Refuse a model on some cliques that would be too large, from public facts.

    By the plan that the fit will make, with its messages.

    Parameters
    ----------
    cliques : sequence of tuple of str
        What would be measured, in the order of measuring.
    public : PublicFacts
        Number of records and schema.
    max_model_size : float
        Largest number of cells that the eliminated cliques may have together; a table
        that is stored may have a tenth of them.

    Raises
    ------
    ModelTooLargeError
        With the size, the cliques that cause it, and what to do.
    """
    domain = Domain.from_schema(public.schema)
    for clique in cliques:
        check_table(domain, clique, max_model_size / 10)
    make_plan(domain, cliques, max_model_size=max_model_size)
