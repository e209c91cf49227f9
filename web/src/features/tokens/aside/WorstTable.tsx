/** The worst tokens of several samples, each a link to its place. */

import type { TokenArray, ShownToken } from "../../../api/types.gen";
import { scopeOf } from "../../../lib/address/address";
import { figure, score } from "../../../lib/numbers/numbers";
import { nameOfSample } from "../../../lib/sample/name";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { labelOf } from "./labels";
import { worstPlace } from "./worstRows";
import style from "./WorstTable.module.css";

interface Props {
  tokens: readonly ShownToken[];
  series: Pick<TokenArray, "name" | "title">;
  /** True for tokens of several steps. */
  isOfRun: boolean;
}

export function WorstTable({ tokens, series, isOfRun }: Props) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">token</th>
          <th scope="col">{harmless(series.title)}</th>
          {isOfRun && <th scope="col">step</th>}
          <th scope="col">sample</th>
          <th scope="col">at</th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <Row key={`${token.id} ${token.token}`} token={token} series={series.name} isOfRun={isOfRun} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  token: ShownToken;
  /** The series of these values: samples open with it. */
  series: string;
  isOfRun: boolean;
}

function Row({ token: item, series, isOfRun }: RowProps) {
  const { id, token, text, token_id, value } = item;
  const { place } = useSession();
  const scope = scopeOf(id);
  const to = worstPlace(item, series);
  return (
    <tr>
      <td>
        <a
          class={style["token"]}
          href={place.href(to)}
          onClick={place.onLink(to)}
          title={harmless(`${id}: go to this token`)}
        >
          {text === null ? String(token_id ?? "–") : labelOf(text)}
        </a>
      </td>
      <td>{score(value)}</td>
      {isOfRun && <td>{figure(scope?.step)}</td>}
      <td class={style["where"]}>
        <bdi>{harmless(nameOfSample(id))}</bdi>
      </td>
      <td>{figure(token)}</td>
    </tr>
  );
}
