/** The words for judgements, which a person may choose in the settings. */

import { settings } from "../../state/browser/settings";

const FIRST = /^./u;

/** A judgement within a sentence. */
export function wordOf(judgement: string): string {
  const { goodWord, badWord } = settings.value;
  return (judgement === "good" ? goodWord : judgement === "bad" ? badWord : "") || judgement || "none";
}

/** A judgement on a button, or as the name of a row. */
export const titleOf = (judgement: string): string => wordOf(judgement).replace(FIRST, (first) => first.toUpperCase());
