/** A token string in the first column of a table, with a link to its samples. */

import type { TokenWordItem } from "../../api/types.gen";
import { hasToken } from "../../lib/list/filter";
import { inColumn } from "../../lib/tokens/sample/readable";
import { useSession } from "../../state/useSession";
import style from "./RunTokens.module.css";

const LABEL_CHARS = 40;

/** A token string as text, on one line, and cut if it is very long. */
export function labelOf(text: string): string {
  const label = inColumn(text);
  return label.length > LABEL_CHARS ? `${label.slice(0, LABEL_CHARS)}…` : label;
}

interface Props {
  word: Pick<TokenWordItem, "token_id">;
  /** Its string as text. */
  text: string;
  extent: "step" | "run";
}

export function TokenLabel({ word: { token_id }, text, extent }: Props) {
  const { place } = useSession();
  const to = { page: "rollouts", discarded: false, extent, where: hasToken(text), sample: null, list: true } as const;
  const title = `Samples with this token${token_id === null ? "" : `, id ${token_id}`}`;
  return (
    <td>
      <a class={style["token"]} href={place.href(to)} onClick={place.onLink(to)} title={title}>
        {labelOf(text)}
      </a>
    </td>
  );
}
