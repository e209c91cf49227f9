/** The token itself: its string as it is and as its record spells it, its id, its place and its role. */

import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { escaped, SHOWN_CHARS } from "../../../lib/tokens/sample/readable";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import style from "./Card.module.css";

export const cut = (words: string): string => (words.length > SHOWN_CHARS ? `${words.slice(0, SHOWN_CHARS)}…` : words);

export function Head({ tokens, token }: { tokens: TokenSample; token: number }) {
  const [text, raw, id, segment] = [tokens.text(token), tokens.raw(token), tokens.id(token), tokens.segmentOf(token)];
  const bytes = cut(tokens.bytes(token));
  const spelled = [
    raw === null || raw === text ? "" : `${escaped(cut(raw))} in the record`,
    bytes === "" ? "" : `bytes ${bytes}`,
  ].filter((words) => words !== "");
  const places = [
    `#${figure(token)}`,
    id === null || text === null ? "" : `id ${id}`,
    segment === null ? "" : harmless(segment.role),
    tokens.trained[token] === 0 ? "not trained" : "",
  ];
  return (
    <div class={style["head"]}>
      <b>{text === null ? (id === null ? "no text" : `id ${id}`) : escaped(cut(text))}</b>
      <span>{places.filter((words) => words !== "").join(" · ")}</span>
      {spelled.length > 0 && <code>{spelled.join(" · ")}</code>}
    </div>
  );
}
