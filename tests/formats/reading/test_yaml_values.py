"""YAML as plain data: settings as Hydra and `yaml.dump` write them, and documents that mean harm."""

import math

import pytest

from rolloupe.formats.reading.yaml_values import yaml_settings, yaml_value

SETTINGS = """\
actor_rollout_ref:
  actor: {clip_ratio_low: 0.2, use_kl_loss: False, lr: 1e-6}  # as in the paper
  rollout:
    stop: [a, 'b']
    since: 2026-01-01
reward_weights: &weights
- 1.0
- .nan
again: *weights
1: one
<<: merged
made: !!python/object/apply:os.system [exit]
object: !!python/object:some.Class {a: 1}
"""


def test_settings_are_plain_data() -> None:
    found = yaml_settings(SETTINGS)
    assert math.isnan(found.pop("reward_weights")[1]) and len(found.pop("again")) == 2
    assert found == {
        "actor_rollout_ref": {
            "actor": {"clip_ratio_low": 0.2, "use_kl_loss": False, "lr": 1e-6},
            "rollout": {"stop": ["a", "b"], "since": "2026-01-01"},
        },
        "1": "one",
        "<<": "merged",
        "made": ["exit"],
        "object": {"a": 1},
    }


@pytest.mark.parametrize("text", ["", "a", "- a", "\x00{]", "a: b: c", "a: {b: 1", "a: !!int x"])
def test_a_text_without_settings_has_none(text: str) -> None:
    assert yaml_settings(text) == {}


@pytest.mark.parametrize("text", ["[" * 10**6, "{a: " * 10**4, "a: &a [*a]", "a: " + "9" * 10**4])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"nested|nesting|recursive|readable|digits"):
        yaml_value(text)


def test_aliases_that_would_fill_the_memory_are_refused() -> None:
    bomb = "a0: &a0 [1]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(12))
    with pytest.raises(ValueError, match="1,000,000 values"):
        yaml_value(bomb)
