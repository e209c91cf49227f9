"""Phrases of texts as hashes, and how each goes with the reward among siblings: signs of what the reward pays for.

Pure functions of arrays, for the scan of texts and for queries.

Texts are cut into words, and words into phrases of one to five, each with a hash, for many texts at once. A word is a
run of letters in lower case, a number (all numbers are alike), a tag such as `</think>`, a backslash with the letters
behind it, a run of one punctuation mark (as long as one), or a single character of a script without blanks between
words: Chinese, Japanese, Korean, emoji. The low bits of a phrase's hash are free for the number of a sample.

One statistic answers all findings: does a feature of samples go with a better reward than that of their siblings?
For a feature x of a sample and its advantage a, with sums over the samples of groups g, and means within groups:

    S = Σ x·(a − ā_g)               how x goes with a
    D = Σ (x − x̄_g)²                how much x varies among siblings
    V = Σ_g var_g(a)·D_g            the variance of S if the advantages of each group were permuted
    z = S/√V
    effect = Σ x·(r − r̄_g)/D        the reward r over siblings, by a unit of x

V is exact under permutation within groups: the permutation variance of a linear statistic (Hoeffding 1951), stratified.
Difficulty and mixture of prompts cancel, as only siblings are compared. All sums add up over groups, and so over steps.
x is log2(1 + count): a count still grows where presence saturates, and the first use weighs most.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.int64]
Hashes: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]
SPACE, LETTER, DIGIT, MARK, SINGLE, INNER = range(6)  # classes of bytes; `INNER` bytes continue a character of UTF-8
MAX_TAG = 40  # a longer tag is not a tag, but text between angle brackets
PAD = 16  # zeros behind the texts, so that eight bytes can be read from anywhere
_FIRST, _LAST, _LENGTH = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_HALF = np.uint64(32)
_NUMBER = np.uint64(0x2545F4914F6CDD1D)  # the hash of every number

_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
"""The mask of the low bytes of a little-endian number, by their count."""

_ENDS_TAG = ~np.isin(np.arange(256), list(b"abcdefghijklmnopqrstuvwxyz0123456789_|/-"))

MAX_WORDS = 5
SAMPLE_BITS = 12  # a hash has 52 bits: among a million phrases, two share a hash in one run of ten thousand
SAMPLES = np.uint64((1 << SAMPLE_BITS) - 1)

_HASH = ~SAMPLES

_NEXT, _FINAL = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA0761D6478BD642F)

_SHIFT = np.uint64(29)
TINY = 1e-9  # less is a rounding error
BLOCK_SAMPLES = 1 << SAMPLE_BITS  # the most samples to look at together
MIN_SAMPLES = 3  # a phrase of fewer samples of a block is left out

MAX_ROWS = 3_000
"""The most phrases to keep of a step, those that vary most among siblings: the choice ignores rewards."""

_COUNTS = np.log2(1 + np.arange(65_536))


def _classes() -> Bytes:
    table = np.full(256, MARK, np.uint8)
    table[:33] = table[127] = SPACE
    table[ord("0") : ord("9") + 1] = DIGIT
    for first, last in ("az", "AZ", "__"):
        table[ord(first) : ord(last) + 1] = LETTER
    table[0x80:0xC0] = INNER
    table[0xC0:] = SINGLE
    table[0xC3:0xE2] = LETTER  # alphabets; U+0080 to U+00BF, from 0xC2 on, are signs
    return table


_CLASS, _LOWER = _classes(), np.arange(256, dtype=np.uint8)
_LOWER[ord("A") : ord("Z") + 1] += 32


class Words(NamedTuple):
    """The words of some texts, in order."""

    starts: Places  # where each begins, in bytes
    stops: Places
    hashes: Hashes
    texts: Places  # the number of the text of each


def words_of(data: Bytes, offsets: Places) -> Words:
    """Cut texts into words: text i is `data[offsets[i]:offsets[i + 1]]`, in UTF-8."""
    padded = np.zeros(len(data) + PAD, np.uint8)
    np.take(_LOWER, data, out=padded[: len(data)])
    classes = _classes_of(padded)
    bounds = _bounds(padded, classes)
    bounds[offsets] = True
    slashes = np.flatnonzero(padded == ord("\\"))
    bounds[slashes[classes[slashes + 1] == LETTER] + 1] = False  # the letters behind it belong to its word
    at = np.flatnonzero(bounds)
    at = _without_tag_insides(padded, at)
    begins = np.flatnonzero(classes.take(at[:-1]) != SPACE)  # the last is the end of the data
    starts, stops = at.take(begins), at.take(begins + 1)
    texts = np.repeat(np.arange(len(offsets) - 1), np.diff(np.searchsorted(starts, offsets)))
    return Words(starts, stops, _hashes(padded, classes, starts, stops), texts)


def _classes_of(data: Bytes) -> Bytes:
    """The class of each byte; a byte that continues a character has the class of its first byte."""
    classes = _CLASS.take(data)
    for _ in range(3):
        inner = np.flatnonzero(classes == INNER)
        if not len(inner):
            break
        classes[inner] = classes[inner - 1]  # of the texts' own first byte, the padding's
    return classes


def _bounds(data: Bytes, classes: Bytes) -> NDArray[np.bool_]:
    bounds = np.ones(len(data), np.bool_)
    np.not_equal(classes[1:], classes[:-1], out=bounds[1:])
    marks = np.flatnonzero(classes == MARK)
    marks = marks[marks > 0]
    bounds[marks] |= data[marks] != data[marks - 1]
    singles = np.flatnonzero(classes == SINGLE)
    bounds[singles] |= data[singles] >= 0xC0  # the first byte of a character
    bounds[len(data) - PAD + 1 :] = False
    return bounds


def _without_tag_insides(data: Bytes, at: Places) -> Places:
    """Leave out the bounds within tags, so that each is one word."""
    angles = at[data[at] == ord("<")]
    if not len(angles):
        return at
    outside = np.flatnonzero(_ENDS_TAG.take(data))
    ends = outside[np.searchsorted(outside, angles + 1)]
    is_tag = (data[ends] == ord(">")) & (ends - angles > 1) & (ends - angles <= MAX_TAG)
    first, last = np.searchsorted(at, angles[is_tag], "right"), np.searchsorted(at, ends[is_tag], "right")
    inside = np.zeros(len(at) + 1, np.int8)
    inside[first] += 1
    inside[last] -= 1
    kept: Places = at[np.cumsum(inside[:-1], dtype=np.int8) == 0]
    return kept


def _hashes(data: Bytes, classes: Bytes, starts: Places, stops: Places) -> Hashes:
    """A hash of the first eight bytes, the last eight, and the length: two long words rarely agree in all three."""
    own, lengths = classes.take(starts), stops - starts
    marks = np.flatnonzero(own == MARK)
    ends = stops[marks] - 1
    lengths[marks[(classes[ends] == MARK) & (data[starts[marks]] == data[ends])]] = 1
    numbers = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    first = numbers.take(starts) & _MASKS.take(lengths, mode="clip")
    last, is_long = first.copy(), np.flatnonzero(lengths > 8)
    last[is_long] = numbers.take(stops[is_long] - 8)
    hashes = first * _FIRST
    hashes ^= hashes >> _HALF
    hashes += last * _LAST
    hashes ^= hashes >> _HALF
    hashes += lengths.astype(np.uint64) * _LENGTH
    hashes *= _FIRST
    hashes ^= hashes >> _HALF
    hashes[own == DIGIT] = _NUMBER
    return hashes


def phrases_of(words: Hashes, texts: Places) -> Iterator[tuple[int, Hashes, Places]]:
    """Yield the phrases of each length within texts: the length, the hashes, and the number of each first word."""
    rolling = words
    for length in range(1, MAX_WORDS + 1):
        if length > 1:
            rolling = rolling[:-1] * _NEXT + words[length - 1 :] if len(rolling) > 1 else rolling[:0]
        inside = texts[: len(rolling)] == texts[length - 1 :][: len(rolling)]
        places = np.flatnonzero(inside)
        yield length, _mixed(rolling[places], length), places


def _mixed(rolling: Hashes, length: int) -> Hashes:
    hashes = rolling + np.uint64(length * int(_FINAL) % 2**64)
    hashes ^= hashes >> _SHIFT
    hashes *= _FINAL
    hashes ^= hashes >> _SHIFT
    hashes &= _HASH
    return hashes


class Grouping:
    """The groups of some samples that come group by group; `groups` has the group of each, shape (N,)."""

    def __init__(self, groups: Places) -> None:
        self.starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
        """The first sample of each group, shape (G,)."""
        self.sizes = np.diff(self.starts, append=len(groups))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def numbers(self) -> Places:
        """The number of the group of each sample, from 0."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def sums(self, values: Floats) -> Floats:
        """The sums over each group of values of shape (N,) or (N, C)."""
        totals: Floats = np.add.reduceat(values, self.starts, axis=0) if len(self) else values[:0]
        return totals

    def centred(self, values: Floats) -> Floats:
        """The values less the mean of their group."""
        means = (self.sums(values) / self.sizes.reshape(-1, *[1] * (values.ndim - 1)))[self.numbers]
        gaps: Floats = np.subtract(values, means, out=means)
        return gaps

    def variances(self, centred: Floats) -> Floats:
        """The unbiased variance in each group of centred values; 0 for groups of one."""
        squares = self.sums(centred * centred)
        squares[squares < TINY * squares.max(initial=0)] = 0
        variances: Floats = squares / np.maximum(self.sizes - 1, 1)
        return variances


class WithinSums(NamedTuple):
    """The sums of some features, each of shape (C,): see the module."""

    groups: Floats  # the number of groups in which x and a vary
    s: Floats
    r: Floats  # like S, for the reward in place of the advantage: a trainer may divide advantages by anything
    v: Floats
    d: Floats


def divided(a: Floats, b: Floats) -> Floats:
    """The quotients; 0 where `b` is."""
    quotients: Floats = np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=np.asarray(b) > 0)
    return quotients


def sums_within(x: Floats, advantages: Floats, rewards: Floats, grouping: Grouping) -> WithinSums:
    """The sums of features: `x` has shape (N, C), the others (N,); all are centred within groups already."""
    own = grouping.sums(np.square(x))  # (G, C)
    varies = grouping.variances(advantages)
    own[own < TINY] = 0
    groups = ((own > 0) & (varies > 0)[:, None]).sum(axis=0).astype(np.float64)
    s, r = np.stack([advantages, rewards]) @ x
    return WithinSums(groups, s, r, varies @ own, own.sum(axis=0))


class FeatureRows(NamedTuple):
    """The sums of phrases and behaviours, each of shape (C,), as in `WithinSums`."""

    hashes: Hashes
    samples: Places  # the number of samples that have the feature
    groups: Places | Floats
    s: Floats
    r: Floats
    v: Floats
    d: Floats

    @property
    def z(self) -> Floats:
        """The distance of S from 0 in standard deviations; 0 where nothing varies."""
        return divided(self.s, np.sqrt(self.v))

    def at(self, places: Places) -> "FeatureRows":
        """Some of the features."""
        return FeatureRows(*(column[places] for column in self))  # type: ignore[pyrefly:bad-argument-type]


class _Hits(NamedTuple):
    """How often samples have phrases: in order of hashes, and of samples for each."""

    hashes: Hashes
    samples: Places
    x: Floats


def feature_rows(
    words: Hashes, samples: Places, advantages: Floats, rewards: Floats, grouping: Grouping
) -> FeatureRows:
    """The sums of the phrases of a block of at most `BLOCK_SAMPLES` samples, which come group by group.

    `words` are the hashes of their words, and `samples` the number of the sample of each, ascending; the advantages and
    rewards are centred within groups, shape (N,).

    A phrase is at most as frequent in each sample as its parts, and D is at most Σx². So phrases that extend a rare
    one, or one whose Σx² is below the smallest D to keep, are left out.
    """
    phrases, found = _Phrases(words, samples), list[FeatureRows]()
    for length in range(1, MAX_WORDS + 1):
        hits = phrases.frequent()
        starts = _starts(hits.hashes)
        found.append(_sums(hits, starts, advantages, rewards, grouping))
        d = np.concatenate([rows.d for rows in found])
        least = np.partition(d, -MAX_ROWS)[-MAX_ROWS] if len(d) > MAX_ROWS else 0.0
        if length < MAX_WORDS:
            squares = np.add.reduceat(hits.x * hits.x, starts) if len(starts) else d[:0]
            phrases.extend(found[-1].hashes[squares >= least * (1 - TINY)])
    rows = FeatureRows(*map(np.concatenate, zip(*found, strict=True)))
    kept = np.flatnonzero(rows.d > TINY)
    kept = kept[np.lexsort((rows.hashes[kept], -rows.d[kept]))[:MAX_ROWS]]  # among equal values, always the same ones
    return rows.at(kept[np.argsort(rows.hashes[kept])])


class _Phrases:
    """The phrases of one length of a block, at first of one word."""

    def __init__(self, words: Hashes, samples: Places) -> None:
        self._length, self._rolling, self._samples = 1, words, samples.astype(np.uint64)
        self._hashes = _mixed(words, 1)
        self._places = np.arange(len(words)) + samples  # a gap between samples: phrases at successive places overlap
        self._words = np.zeros(len(words) + BLOCK_SAMPLES, np.uint64)
        self._words[self._places] = words
        self._shift = np.uint64(64 - max(10, min(20, len(words).bit_length() + 3)))

    def frequent(self) -> _Hits:
        """The phrases that at least `MIN_SAMPLES` samples have."""
        keys = self._hashes | self._samples
        keys.sort()
        first = _starts(keys)
        counts, keys = np.diff(first, append=len(keys)), keys.take(first)
        is_frequent = np.zeros(len(keys), np.bool_)
        several = (keys[MIN_SAMPLES - 1 :] ^ keys[: 1 - MIN_SAMPLES]) <= SAMPLES
        for ahead in range(MIN_SAMPLES):
            is_frequent[ahead : ahead + len(several)] |= several
        kept = np.flatnonzero(is_frequent)
        keys = keys.take(kept)
        x = _COUNTS.take(counts.take(kept), mode="clip")
        return _Hits(keys & _HASH, (keys & SAMPLES).astype(np.int64), x)

    def extend(self, hashes: Hashes) -> None:
        """Lengthen by one word the phrases whose two parts are both among these; a few others may pass."""
        is_among = np.zeros(1 << (64 - int(self._shift)), np.bool_)
        is_among[(hashes >> self._shift).view(np.int64)] = True
        kept = np.flatnonzero(is_among.take((self._hashes >> self._shift).view(np.int64)))
        at = self._places.take(kept)
        kept = kept[np.flatnonzero(at[1:] - at[:-1] == 1)]
        self._places, self._samples = self._places.take(kept), self._samples.take(kept)
        self._rolling = self._rolling.take(kept) * _NEXT + self._words.take(self._places + self._length)
        self._length += 1
        self._hashes = _mixed(self._rolling, self._length)


def _starts(ordered: Hashes | Places) -> Places:
    if not len(ordered):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])


def _sums(hits: _Hits, starts: Places, advantages: Floats, rewards: Floats, grouping: Grouping) -> FeatureRows:
    def total(of: Places, values: Floats) -> Floats:
        return np.bincount(of, values).astype(np.float64, copy=False)

    samples_of = np.diff(starts, append=len(hits.hashes))
    features = np.repeat(np.arange(len(starts)), samples_of)  # of each hit
    places = features * len(grouping) + grouping.numbers.take(hits.samples)
    of_group = _starts(places)  # the first hit of each feature and group
    hits_of = np.diff(of_group, append=len(places))
    pairs, own = features.take(of_group), hits.samples.take(of_group)
    each = np.repeat(np.arange(len(of_group)), hits_of)
    x = total(each, hits.x)
    d = total(each, hits.x * hits.x) - x * x / grouping.sizes.take(grouping.numbers.take(own))
    d[d < TINY] = 0
    variances = grouping.variances(advantages).take(grouping.numbers.take(own))
    return FeatureRows(
        hits.hashes.take(starts),
        samples_of,
        np.bincount(pairs[(d > 0) & (variances > 0)], minlength=len(starts)),
        total(features, hits.x * advantages.take(hits.samples)),
        total(features, hits.x * rewards.take(hits.samples)),
        total(pairs, variances * d),
        total(pairs, d),
    )
