/** A token string in the first column of a table. */

import type { TokenWordItem } from "../../api/types.gen";
import { alone, inColumn } from "../../lib/tokens/sample/readable";
import style from "./RunTokens.module.css";

const LABEL_CHARS = 40;

/** How to show some token strings: readable, on one line, and cut if they are very long. */
export function labelsOf(words: readonly string[]): (word: string) => string {
  const readable = alone(words);
  return (word) => {
    const label = inColumn(readable(word));
    return label.length > LABEL_CHARS ? `${label.slice(0, LABEL_CHARS)}…` : label;
  };
}

interface Props {
  word: Pick<TokenWordItem, "word" | "token_id">;
  label: (word: string) => string;
}

export function TokenLabel({ word: { word, token_id }, label }: Props) {
  return (
    <th scope="row" title={token_id === null ? undefined : `id ${token_id}`}>
      <code class={style["token"]}>{label(word)}</code>
    </th>
  );
}
