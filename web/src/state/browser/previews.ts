/** The beginnings of prompts and responses in lists, without what the reader's settings leave out. */

import type { ShownTexts } from "../../lib/diff/commonInSamples";
import { bare, unpadded } from "../../lib/sample/preview";
import { padToken, promptAfter } from "./textOptions";

export const shownPrompt = (prompt: string): string => unpadded(bare(prompt), padToken.value, promptAfter.value);
export const shownResponse = (response: string): string => unpadded(response, padToken.value);

/** Both, for what the samples of a page share; `settings` changes with what they leave out. */
export const shownTexts = (): ShownTexts => ({
  prompt: shownPrompt,
  response: shownResponse,
  settings: `${padToken.value}\n${promptAfter.value}`,
});
