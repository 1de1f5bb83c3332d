"""Where randomness comes from: three independent streams for one fit.

Noise, the choice of a sub-sample and the sampling of synthetic records each have
their own stream, so that no output ever replays another's noise. Without a seed
the streams are ChaCha20 key streams (RFC 8439's block function) under fresh
256-bit keys of the operating system; with a seed they are reproducible, which is
what tests and papers want, and what voids the privacy guarantee once the seed is
known.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from numbers import Integral
from typing import NoReturn

import numpy as np
from randomgen import ChaCha

__all__ = ["RandomStreams", "seed_of"]

ROUNDS = 20
KEY_BITS = 256


@dataclass(frozen=True, eq=False, repr=False)
class RandomStreams:
    """Three independent generators, made inside one fit and never stored.

    Attributes
    ----------
    noise : numpy.random.Generator
        Draws privacy noise and private selections.
    subsampling : numpy.random.Generator
        Chooses sub-samples of the records.
    sampling : numpy.random.Generator
        Draws synthetic records; its outputs may be published.

    Notes
    -----
    The object refuses to be pickled or copied: either would repeat the noise or
    reveal the key.
    """

    noise: np.random.Generator
    subsampling: np.random.Generator
    sampling: np.random.Generator

    @classmethod
    def from_random_state(
        cls, random_state: int | np.random.RandomState | None = None
    ) -> RandomStreams:
        """Make the streams that a ``random_state`` parameter stands for.

        Parameters
        ----------
        random_state : int, RandomState or None, default=None
            None: each stream gets its own key from the operating system. An int
            (at least 0): keys derived from it, the same every time. A
            RandomState: an int is drawn from it, which advances it.

        Returns
        -------
        RandomStreams
            Streams that nothing has been drawn from yet.

        Raises
        ------
        TypeError
            If `random_state` is of another type, a Generator for example.
        ValueError
            If an int seed is negative.

        Examples
        --------
        >>> streams = RandomStreams.from_random_state(0)
        >>> again = RandomStreams.from_random_state(0)
        >>> int(streams.noise.integers(100)) == int(again.noise.integers(100))
        True
        """
        seed = seed_of(random_state)
        if seed is None:
            keys = [secrets.randbits(KEY_BITS) for _ in range(3)]
        else:
            keys = _keys_from_seed(seed)
        return cls(*(_generator(key) for key in keys))

    def __repr__(self) -> str:
        """Say what this is without a word about its keys."""
        return "RandomStreams(noise, subsampling, sampling)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying, which would reveal or replay the noise."""
        raise TypeError(
            "RandomStreams cannot be pickled or copied: a copy would reveal or "
            "repeat the privacy noise. Make new streams with "
            "RandomStreams.from_random_state."
        )


def seed_of(random_state: int | np.random.RandomState | None) -> int | None:
    """Return the seed that a ``random_state`` parameter stands for.

    Parameters
    ----------
    random_state : int, RandomState or None
        An int is drawn from a RandomState, which advances it.

    Returns
    -------
    int or None
        The seed; None for entropy of the operating system.

    Raises
    ------
    TypeError
        If `random_state` is of another type, a Generator for example.
    ValueError
        If an int seed is negative.
    """
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**63 - 1, dtype=np.int64))
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(
            "random_state must be an int, a numpy.random.RandomState or None, got "
            f"{type(random_state).__name__}. Pass an int for reproducible noise or "
            "None for secret noise."
        )
    if random_state < 0:
        raise ValueError(f"random_state must be at least 0, got {int(random_state)}.")
    return int(random_state)


def _keys_from_seed(seed: int) -> list[int]:
    """Derive one 256-bit key per stream from a seed."""
    children = np.random.SeedSequence(seed).spawn(3)
    return [
        int.from_bytes(
            child.generate_state(4, np.uint64).astype("<u8").tobytes(), "little"
        )
        for child in children
    ]


def _generator(key: int) -> np.random.Generator:
    """Wrap the ChaCha20 key stream of `key`.

    The key is set directly: a `seed` would pass through a pool of 128 bits that
    is not cryptographic.
    """
    return np.random.Generator(ChaCha(key=key, rounds=ROUNDS))
