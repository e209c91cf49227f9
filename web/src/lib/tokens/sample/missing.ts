/** What the view of a sample's tokens cannot show, and why, in a sentence each. */

import type { TokenSample } from "./tokenSample";

const POLICY = ["trainer_logprobs", "old_logprobs", "logprobs"];

export function missingOf(tokens: TokenSample, membersOfGroup: number, isReport: boolean): string[] {
  const found: string[] = [];
  if (tokens.hasIds && !tokens.hasText) {
    const command = isReport ? "rolloupe export html" : "rolloupe view";
    const how = `Name a tokenizer, a model or a folder with its files: ${command} … --tokenizer NAME.`;
    found.push(`Ids alone: the record holds no text of its tokens. ${how}`);
  }
  if (tokens.updates.length === 0) {
    const has = POLICY.some((name) => tokens.named(name) !== null);
    found.push(`No Update: the record has no ${has ? "advantages" : "logprobs of the policy"}.`);
  }
  if (isReport) found.push("No Beside: a report shows one sample at a time; open the run to compare two.");
  else if (membersOfGroup < 2) found.push("No Beside: the sample is the only one of its group.");
  return found;
}
