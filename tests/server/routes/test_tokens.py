"""What a step does to the samples of a group or a step, as the page asks for it."""

from pathlib import Path

from tests.server.support import get, opened, run_path, served

PRIME = Path(__file__).parents[2] / "data/prime_rl/exports/v6_pr3189"


def test_the_update_of_a_step_has_sums_by_sample_group_role_and_string(tmp_path: Path) -> None:
    app = served(opened(PRIME, tmp_path))
    asked = f"{run_path(app)}/update?split=train&step=1"
    reply = get(app, f"{asked}&rule=dapo&threshold.high=0.5&weights=sequence_mean").json
    assert (reply["rule"], reply["samples"], reply["left_out"]) == ("dapo", 3, {})
    sizes = [push["up"] + push["down"] + push["lost"] for push in reply["by_sample"]]
    assert sizes == sorted(sizes, reverse=True)
    group = reply["by_group"][0]["name"]
    assert get(app, f"{asked}&group={group}&rule=ppo").json["by_sample"][0]["name"].startswith(f"train/1/{group}/")
    assert {push["name"] for push in reply["by_role"]} == {"assistant"} and len(reply["by_string"]) == 50
    for wrong, words in (
        ("&rule=dapo&weights=none", "weights='none' is neither token_mean nor sequence_mean"),
        ("&rule=dapo&threshold.high=x", "threshold.high='x' is not a number"),
        ("&rule=nothing", "no rule 'nothing'"),
    ):
        answer = get(app, asked + wrong)
        assert answer.status == 400 and words in str(answer.json)
