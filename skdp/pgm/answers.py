"""What a fitted model is asked: post-processing, free of charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.graphical import Model
from skdp.graphical.sampling import Method
from skdp.pgm.coding import GAP, codes_of, codes_with_gaps, gap_patterns
from skdp.pgm.conditions import level_weights
from skdp.pgm.frames import FrameForm, decode, fill
from skdp.pgm.imputation import distribution_of, fill_gaps
from skdp.pgm.session import ModelFitter
from skdp.pgm.uncertainty import repeat_fits
from skdp.privacy.streams import RandomStreams
from skdp.records import Schema
from skdp.records.frames import Table, read_table

__all__ = ["ModelAnswers"]

_N_REPETITIONS = 20


class ModelAnswers(OneToOneFeatureMixin, TransformerMixin):
    """Methods of a fitted estimator that ask its model.

    A subclass sets `model_`, `schema_`, `measurements_`, `_form` and `_fitter` in its
    fit, and has the parameters `imputation`, `delta` and `random_state`.
    """

    model_: Model
    schema_: Schema
    measurements_: tuple[Any, ...]
    _form: FrameForm
    _fitter: ModelFitter
    _is_repeatable: bool

    # Counts -----------------------------------------------------------------------

    def marginal(self, columns: Iterable[str], return_std: bool = False) -> Any:
        """Return the estimated counts over some columns.

        Parameters
        ----------
        columns : iterable of str
            Names; the axes of the result, each with the levels of ``schema_[name]``.
        return_std : bool, default=False
            Whether to return the deviation that the privacy noise causes as well, by a
            parametric bootstrap: the model is measured and fitted again 20 times with
            fresh noise. It knows the measured marginals, not how they were chosen,
            nor dependences that were never measured.

        Returns
        -------
        counts : ndarray
            Expected numbers of records, which add up to n.
        std : ndarray
            Root mean square deviation, of the same shape. Only if `return_std`.

        Raises
        ------
        ValueError
            If a column is unknown or named twice.
            Or if deviations are asked for and the strategy did not fit a graphical
            model to measurements.
        ModelTooLargeError
            If the table would be too large.
        """
        check_is_fitted(self)
        columns = (columns,) if isinstance(columns, str) else tuple(columns)
        counts = self.model_.marginal(columns)
        if not return_std:
            return counts
        models = self._repeated_models()
        if not models:
            return counts, np.zeros_like(counts)
        squares = [(model.marginal(columns) - counts) ** 2 for model in models]
        return counts, np.sqrt(np.mean(squares, axis=0))

    def _repeated_models(self) -> list[Model]:
        """Fit to repeated measurements, once."""
        if not self._is_repeatable:
            raise ValueError(
                "return_std=True repeats the measurements of a graphical model. This "
                "model was made in another way: use a strategy that measures, with "
                "inference='graphical_model'."
            )
        if not self.measurements_:
            return []
        if "_repetitions" not in vars(self):
            self._repetitions = repeat_fits(
                self.model_,
                self.measurements_,
                lambda repeated: self._fitter.model(self._fitter(repeated)),
                self.ledger_.delta == 0,
                _N_REPETITIONS,
            )
        return self._repetitions

    def query(self, conditions: Mapping[str, Any]) -> float | NDArray[np.float64]:
        """Count the records that meet a condition on each of some columns.

        The table over these columns is never formed, so there may be many of them.

        Parameters
        ----------
        conditions : mapping of str to object
            Per column a level; a list of levels; a tuple (low, high) on a column with
            an order, both ends included (of a bin that is cut, the share inside); or an
            array of weights, of shape (n_levels,) or (k, n_levels).

        Returns
        -------
        float or ndarray
            Expected number of records, or weighted sum; an array with one axis of
            length k per column with rows of weights.

        Raises
        ------
        SchemaError
            If a column or level is unknown, or has no order for a range.
        """
        check_is_fitted(self)
        weights = {
            name: level_weights(self.schema_[name], condition)
            for name, condition in conditions.items()
        }
        answer = self.model_.query(weights)
        return answer if answer.ndim else float(answer)

    # Records ----------------------------------------------------------------------

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each record.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The records. Numbers count by their bin, whatever its width.

        Returns
        -------
        ndarray, shape (n_samples,)
            In nats; -inf for what the model excludes.
        """
        table = self._read(X)
        return self.model_.log_probability(codes_of(table, self.schema_))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability of some records.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The records.
        y : None
            Ignored.

        Returns
        -------
        float
            In nats per record. The score itself is not private.
        """
        return float(np.mean(self.score_samples(X)))

    def predict_proba(self, X: Any, target: str | None = None) -> NDArray[np.float64]:
        """Return the distribution of one column, given the others.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The records, with or without the target, whose values are not looked at.
            Missing entries are summed out.
        target : str, optional
            Name of the column; by default the last one.

        Returns
        -------
        ndarray, shape (n_samples, n_levels)
            In the order of ``schema_[target].levels``. Where the model excludes what is
            known of a record, the marginal distribution.

        Raises
        ------
        SchemaError
            If there is no such column.
        """
        check_is_fitted(self)
        target = self.schema_.names[-1] if target is None else target
        n_levels, place = (
            self.schema_.n_levels(target),
            self.schema_.names.index(target),
        )
        codes = codes_with_gaps(self._read_without(X, place), self.schema_)
        codes[:, place] = GAP
        result = np.empty((len(codes), n_levels))
        for _, records in gap_patterns(codes):
            result[records] = distribution_of(
                self.model_, self.schema_, codes[records], place
            )
        return result

    def transform(self, X: Any) -> Any:
        """Fill missing entries from the model, given the known ones.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The records; None, NaN and the like are missing, also where the schema has
            a level for them.

        Returns
        -------
        frame or ndarray
            A copy without missing entries, by the rule of `imputation`.
        """
        table = self._read(X)
        codes = codes_with_gaps(table, self.schema_)
        form = FrameForm.of(X)
        whole = [form.is_whole(place) for place in range(len(self.schema_))]
        fillings = fill_gaps(
            self.model_,
            self.schema_,
            codes,
            self.imputation,
            self._sampling_stream(),
            whole,
        )
        return fill(X, fillings)

    def sample(self, n_samples: int | None = None, *, method: Method = "round") -> Any:
        """Draw synthetic records.

        Parameters
        ----------
        n_samples : int, optional
            By default as many as there were.
        method : {"round", "iid"}, default="round"
            Whether expected counts are rounded at random, which brings the marginals of
            the sample closer to the model's, or every record is drawn independently.

        Returns
        -------
        frame or ndarray
            Of the engine, the column names and the types of what was fitted. Levels are
            those of the schema, numbers are drawn uniformly within their bins.
        """
        check_is_fitted(self)
        rng = self._sampling_stream()
        codes = self.model_.sample(n_samples, method=method, random_state=rng)
        columns = [
            decode(column, codes[:, place], rng, self._form.is_whole(place))
            for place, column in enumerate(self.schema_)
        ]
        return self._form.build(self.schema_, columns)

    # Input ------------------------------------------------------------------------

    def _sampling_stream(self) -> np.random.Generator:
        """Return a stream that is independent of the noise of the fit."""
        return RandomStreams.from_random_state(self.random_state).sampling

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        table = read_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return table

    def _read_without(self, X: Any, place: int) -> Table:
        """Read records that may lack one column, as if nothing were known of it."""
        table, names = read_table(X), list(self.schema_.names)
        del names[place]
        lacks = list(table.names) == names
        if not table.named:
            lacks = len(table.names) == len(names)
        columns = list(table.columns if lacks else self._read(X).columns)
        unknown = np.full(table.n_records, None)
        columns[place : place + (not lacks)] = [unknown]
        return Table(self.schema_.names, tuple(columns), table.n_records, table.named)
