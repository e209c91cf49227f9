/** Says in a sentence which numbers of a record the update reads. `names` are the names of the sample's series. */
export function momentOf(names: ReadonlySet<string>): string {
  const before = names.has("old_logprobs")
    ? "before the step"
    : names.has("logprobs")
      ? "at sampling"
      : "of the trainer";
  const ratios =
    names.has("trainer_logprobs") && before !== "of the trainer"
      ? `ratios compare the trainer's logprobs with those ${before}`
      : `the record has no later logprobs than those ${before}, so ratios to them are 1`;
  return `Read at the first minibatch of the step: ${ratios}.`;
}
