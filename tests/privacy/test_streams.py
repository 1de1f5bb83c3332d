"""Randomness comes from ChaCha20 under secret keys, or from a seed, never twice."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from skdp.privacy import streams
from skdp.privacy.streams import RandomStreams

NAMES = ("noise", "subsampling", "sampling")


def first_words(made: RandomStreams) -> list[tuple[int, ...]]:
    """Draw a few words from each stream."""
    return [
        tuple(getattr(made, name).integers(0, 2**64, 4, dtype=np.uint64).tolist())
        for name in NAMES
    ]


def quarter_round(x: list[int], a: int, b: int, c: int, d: int) -> None:
    """Mix four words as RFC 8439 says."""
    for target, other, mixed, turn in ((a, b, d, 16), (c, d, b, 12)) + (
        (a, b, d, 8),
        (c, d, b, 7),
    ):
        x[target] = (x[target] + x[other]) & 0xFFFFFFFF
        y = x[mixed] ^ x[target]
        x[mixed] = ((y << turn) | (y >> (32 - turn))) & 0xFFFFFFFF


def chacha20_block(key: int, counter: int) -> bytes:
    """Compute one block of the ChaCha20 key stream, slowly."""
    words = [
        int.from_bytes(b"expand 32-byte k"[k : k + 4], "little") for k in (0, 4, 8, 12)
    ]
    words += [key >> 32 * k & 0xFFFFFFFF for k in range(8)]
    words += [counter >> 32 * k & 0xFFFFFFFF for k in range(4)]
    mixed = list(words)
    for _ in range(10):
        for k in range(4):
            quarter_round(mixed, k, 4 + k, 8 + k, 12 + k)
        for k in range(4):
            quarter_round(mixed, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4)
    total = [(m + w) & 0xFFFFFFFF for m, w in zip(mixed, words, strict=True)]
    return b"".join(word.to_bytes(4, "little") for word in total)


def test_the_reference_block_is_that_of_the_rfc():
    key = int.from_bytes(bytes(range(32)), "little")
    nonce = bytes.fromhex("000000090000004a00000000")
    counter = 1 | int.from_bytes(nonce, "little") << 32
    block = chacha20_block(key, counter)
    assert block.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4")


@pytest.mark.parametrize("key", [2**255 + 12345, 3**160])
def test_the_generator_is_chacha20_under_the_key_itself(key):
    words = streams._generator(key).integers(0, 2**64, 8, dtype=np.uint64)
    assert words.astype("<u8").tobytes() == chacha20_block(key, 0)


def test_different_keys_give_different_streams():
    words = {
        tuple(streams._generator(1 << k).integers(0, 2**64, 2, dtype=np.uint64))
        for k in range(256)
    }
    assert len(words) == 256


def test_a_seed_is_reproducible_and_its_streams_differ():
    first = first_words(RandomStreams.from_random_state(7))
    assert first == first_words(RandomStreams.from_random_state(7))
    assert first == first_words(RandomStreams.from_random_state(np.int64(7)))
    assert len(set(first)) == 3
    assert not set(first) & set(first_words(RandomStreams.from_random_state(8)))


def test_without_a_seed_every_stream_is_new():
    words = first_words(RandomStreams.from_random_state(None))
    words += first_words(RandomStreams.from_random_state())
    assert len(set(words)) == 6


def test_without_a_seed_the_keys_come_from_the_operating_system(monkeypatch):
    asked = []

    def randbits(bits):
        asked.append(bits)
        return len(asked)

    monkeypatch.setattr(streams.secrets, "randbits", randbits)
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    RandomStreams.from_random_state(None)
    assert asked == [256, 256, 256]
    assert (np.random.get_state()[1] == before).all()


def test_a_random_state_is_a_seed_and_moves_on():
    state = np.random.RandomState(3)
    first = first_words(RandomStreams.from_random_state(state))
    second = first_words(RandomStreams.from_random_state(state))
    assert first != second
    again = RandomStreams.from_random_state(np.random.RandomState(3))
    assert first == first_words(again)


@pytest.mark.parametrize("bad", [np.random.default_rng(0), "0", 1.0, True, [1]])
def test_other_types_are_refused(bad):
    with pytest.raises(TypeError, match="random_state must be an int"):
        RandomStreams.from_random_state(bad)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        RandomStreams.from_random_state(-1)


@pytest.mark.parametrize("replicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_streams_can_be_neither_pickled_nor_copied(replicate):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        replicate(RandomStreams.from_random_state(0))


def test_the_text_form_shows_no_key():
    assert repr(RandomStreams.from_random_state(0)) == (
        "RandomStreams(noise, subsampling, sampling)"
    )


def test_streams_cannot_be_exchanged():
    made = RandomStreams.from_random_state(0)
    with pytest.raises(AttributeError):
        made.noise = made.sampling
