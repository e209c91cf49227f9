/** The beginnings of prompts and responses in lists, without what the reader's settings leave out. */

import { bare, unpadded } from "../../lib/sample/preview";
import { settings } from "./settings";

export function shownPrompt(prompt: string): string {
  const { padToken, promptAfter } = settings.value;
  return unpadded(bare(prompt), padToken, promptAfter);
}

export const shownResponse = (response: string): string => unpadded(response, settings.value.padToken);
