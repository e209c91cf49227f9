/** Small parts of the flow of tokens. */

import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import style from "./Flow.module.css";

/** The attribute with the place of a token. */
export const AT = "data-at";

/** The number of tokens from which sizes are estimated. */
const MEASURED_TOKENS = 300;

/** The mean length of the last tokens in characters. */
export function meanLength(tokens: TokenSample): number {
  let sum = 0;
  const first = Math.max(0, tokens.count - MEASURED_TOKENS);
  for (let token = first; token < tokens.count; token += 1) sum += Math.min(200, tokens.label(token).length);
  return sum / Math.max(1, tokens.count - first);
}

/** The role of a stretch. */
export function chip(words: string): HTMLElement {
  const element = document.createElement("span");
  element.className = style["chip"] ?? "";
  element.textContent = words;
  return element;
}

/** The token that an element shows; null for another element. */
export function tokenAt(target: EventTarget | null): number | null {
  const element = target instanceof Element ? target.closest(`[${AT}]`) : null;
  return element === null ? null : Number(element.getAttribute(AT));
}
