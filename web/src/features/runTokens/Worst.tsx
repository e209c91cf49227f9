/** The tokens of the split with the greatest or the lowest values of a series, each a link to its place. */

import { getWorstTokens } from "../../api";
import type { RunSeriesItem, WorstTokenItem } from "../../api/types.gen";
import { scopeOf } from "../../lib/address/address";
import { figure, score } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { alone } from "../../lib/tokens/sample/readable";
import { useSession } from "../../state/useSession";
import { Segments } from "../../ui/controls/Segments";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { option, setOption, useAnswer } from "./scope";
import { labelOf } from "./TokenLabel";
import style from "./RunTokens.module.css";

const SIDES = [
  { value: "high", label: "greatest" },
  { value: "low", label: "least" },
] as const;

export function Worst({ series }: { series: RunSeriesItem }) {
  const session = useSession();
  // Of logprobs the lowest are the worst.
  const usual = /(^|_)(logprobs|probability)$/.test(series.name) ? "low" : "high";
  const side = SIDES.find(({ value }) => value === option(session, "side"))?.value ?? usual;
  const loaded = useAnswer(["worst", series.name, side], (id, split) =>
    getWorstTokens(id, { split }, series.name, side),
  );
  const reply = loaded.value;
  const text = alone(reply?.tokens.flatMap(({ string }) => string ?? []) ?? []);
  return (
    <section aria-labelledby="worst-of-run">
      <div class={style["heading"]}>
        <h2 id="worst-of-run">Worst tokens</h2>
        <Segments
          label="Worst tokens"
          options={SIDES}
          value={side}
          choose={(next) => setOption(session, { side: next === usual ? "" : next })}
        />
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply !== null && <Coverage of={reply.coverage} />}
      {reply !== null && reply.tokens.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">token</th>
              <th scope="col">{harmless(series.title)}</th>
              <th scope="col">step</th>
              <th scope="col">sample</th>
              <th scope="col">at</th>
            </tr>
          </thead>
          <tbody>
            {reply.tokens.map((token) => (
              <Row key={`${token.id} ${token.token}`} token={token} text={text} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Row({ token, text }: { token: WorstTokenItem; text: (word: string) => string }) {
  const { place } = useSession();
  const scope = scopeOf(token.id);
  const to = {
    ...scope,
    page: "rollouts",
    discarded: false,
    sample: token.id,
    view: "tokens",
    token: token.token,
  } as const;
  const words = token.string === null ? String(token.token_id ?? "–") : labelOf(text(token.string));
  return (
    <tr>
      <td>
        <a
          class={style["token"]}
          href={place.href(to)}
          onClick={place.onLink(to)}
          title={harmless(`${token.id}: go to this token`)}
        >
          {words}
        </a>
      </td>
      <td>{score(token.value)}</td>
      <td>{figure(scope?.step)}</td>
      <td class={style["where"]}>{harmless(token.id.split("/").slice(-2).join("/"))}</td>
      <td>{figure(token.token)}</td>
    </tr>
  );
}
