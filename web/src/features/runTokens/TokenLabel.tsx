/** A token string in the first column of a table, with a link to its samples. */

import type { Word } from "../../api/types.gen";
import { hasToken } from "../../lib/list/filter";
import { useSession } from "../../state/useSession";
import { labelOf } from "../tokens";
import style from "./RunTokens.module.css";

interface Props {
  word: Pick<Word, "token_id" | "text">;
  extent: "step" | "run";
}

export function TokenLabel({ word: { token_id, text }, extent }: Props) {
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
