"""The other names of token series: what frameworks and people call them."""

from collections.abc import Container

_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "kl": ("kl_k3", "mismatch_kl"),
    "k1": ("log_ratio",),
    "kl_k1": ("log_ratio",),
    "k2": ("kl_k2",),
    "k3": ("kl_k3",),
    "advantage": ("advantages", "group_advantages"),
    "advantages": ("group_advantages",),
    "ratio": ("importance_ratio", "update_ratio"),
    "entropies": ("entropy",),
    "entropys": ("entropy",),
    **dict.fromkeys(
        (
            "inference_logprobs", "sampling_logprobs", "generation_logprobs", "rollout_logprobs", "rollout_log_probs",
            "sampling_per_token_logps",
        ),
        ("logprobs",),
    ),
    **dict.fromkeys(("prev_logprobs", "log_probs", "old_log_probs", "old_per_token_logps"), ("old_logprobs",)),
    **dict.fromkeys(
        (
            "reference_logprobs", "reference_policy_logprobs", "ref_log_probs", "ref_log_prob",
            "ref_per_token_logps",
        ),
        ("ref_logprobs",),
    ),
    "inference_prob": ("sampling_probability",),
    "trainer_prob": ("probability",),
}  # fmt: skip
"""By another name, the series that it means: the first of them that samples have."""


def has_other_meaning(name: str) -> bool:
    """True for a name that means another series where no series is called so."""
    return name in _OTHER_NAMES


def name_among(name: str, known: Container[str]) -> str:
    """Return the known series that a name means: the one called so, else the first of those that it may mean.

    A name that means none of them is returned as it is.
    """
    return next((one for one in (name, *_OTHER_NAMES.get(name, ())) if one in known), name)
