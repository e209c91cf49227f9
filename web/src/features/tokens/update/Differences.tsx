/** Where two rules differ: samples by how many of their tokens the rules treat differently. */

import { useState } from "preact/hooks";
import type { SampleDifference } from "../../../api/types.gen";
import { scopeOf } from "../../../lib/address/address";
import { count, figure } from "../../../lib/numbers/numbers";
import { percent } from "../../../lib/numbers/percent";
import { nameOfSample } from "../../../lib/sample/name";
import { harmless } from "../../../lib/text/invisible";
import type { ChosenUpdate } from "../../../state/tokens/update";
import { useSession } from "../../../state/useSession";
import style from "./Update.module.css";

/** The number of rows before *more*. */
const MOST = 12;

interface Props {
  rows: readonly SampleDifference[];
  rules: readonly ChosenUpdate[];
  many: number;
  total: number;
}

/** The samples by how many of their tokens the two rules treat differently, each a link to its tokens. */
export function Differences({ rows, rules, many, total }: Props) {
  const { place } = useSession();
  const [isWhole, showAll] = useState(false);
  const here = place.field.sample.value;
  const words = rules.map(({ rule }) => harmless(rule.title)).join(" and ");
  return (
    <section aria-labelledby="update-differs">
      <h2 id="update-differs">
        Treated differently <small>tokens by {words}</small>
      </h2>
      <p class="quiet">
        {many === 0 ? "Both rules treat every token alike." : `In ${figure(many)} of ${count(total, "sample")}.`}
      </p>
      {rows.length > 0 && (
        <table class={style["summary"]}>
          <thead>
            <tr>
              <th scope="col">sample</th>
              <th scope="col">tokens</th>
              <th scope="col" title="Of the trained tokens of the sample">
                share
              </th>
            </tr>
          </thead>
          <tbody>
            {(isWhole ? rows : rows.slice(0, MOST)).map(({ id, differing, tokens }) => (
              <tr key={id} aria-current={id === here ? "true" : undefined}>
                <th scope="row" title={harmless(`${id}: the first of these tokens`)}>
                  <SampleLink id={id} />
                </th>
                <td>{figure(differing)}</td>
                <td>{percent(differing / tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows.length > MOST && (
        <button type="button" class="action" aria-expanded={isWhole} onClick={() => showAll(!isWhole)}>
          {isWhole ? `Show the first ${MOST}` : `Show all ${figure(rows.length)}`}
        </button>
      )}
    </section>
  );
}

function SampleLink({ id }: { id: string }) {
  const { place } = useSession();
  const to = { ...scopeOf(id), sample: id, token: null, toDifference: true };
  return (
    <a href={place.href(to)} onClick={place.onLink(to)}>
      <bdi>{harmless(nameOfSample(id))}</bdi>
    </a>
  );
}
