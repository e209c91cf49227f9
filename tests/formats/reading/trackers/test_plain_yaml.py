"""The settings of YAML files as Hydra and `yaml.dump` write them."""

from rolloupe.formats.reading.trackers.plain_yaml import MAX_DEPTH, plain_yaml

SETTINGS = """\
actor_rollout_ref:
  actor:
    clip_ratio_low: 0.2  # as in the paper
    clip_ratio_high: 2.8e-1
    loss_agg_mode: 'token-mean'
    use_kl_loss: False
    entropy_coeff: null
  rollout:
    n: 8
    stop: [a, b]
trainer:
  steps:
  - 1
"""


def test_settings_are_nested_by_their_indentation() -> None:
    actor = {
        "clip_ratio_low": 0.2, "clip_ratio_high": 0.28, "loss_agg_mode": "token-mean", "use_kl_loss": False,
        "entropy_coeff": None,
    }  # fmt: skip
    assert plain_yaml(SETTINGS) == {
        "actor_rollout_ref": {"actor": actor, "rollout": {"n": 8, "stop": "[a, b]"}},
        "trainer": {"steps": {}},
    }


def test_a_text_that_is_no_settings_costs_nothing_else() -> None:
    assert plain_yaml("\x00{]\n- a\nkey: 1\n  deeper: 2\n") == {"key": 1, "deeper": 2}


def test_levels_are_bounded() -> None:
    found: object = plain_yaml("".join(f"{' ' * depth}k{depth}:\n" for depth in range(3 * MAX_DEPTH)))
    depth = 0
    while isinstance(found, dict) and found:
        found, depth = next(iter(found.values())), depth + 1
    assert depth <= MAX_DEPTH
