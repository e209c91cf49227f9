/** The tokens with the worst values of the shown series: of the sample, its group, its step or the run. */

import { useMemo, useRef } from "preact/hooks";
import { isAlone } from "../../../api";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { inColumn } from "../../../lib/tokens/sample/readable";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { WorstOf } from "../../../state/tokens/worst";
import { useSession } from "../../../state/useSession";
import { Segments } from "../../../ui/controls/Segments";
import { Missing } from "../../../ui/layout/EmptyState";
import { Coverage } from "../../../ui/text/Coverage";
import { valueOf } from "../card/words";
import { cut } from "./labels";
import { pointing, usePointedRow } from "./pointed";
import { worstOfSample } from "./worstRows";
import { WorstTable } from "./WorstTable";

const RATIO = "importance_ratio";
const SCOPES: readonly { value: WorstOf; label: string; title: string }[] = [
  { value: "sample", label: "sample", title: "Of this sample" },
  { value: "group", label: "group", title: "Of all samples of the group" },
  { value: "step", label: "step", title: "Of all samples of the step" },
  { value: "run", label: "run", title: "Of all samples of the run" },
];

const WHERE: Readonly<Record<WorstOf, string>> = {
  sample: "in this sample",
  group: "in this group",
  step: "in this step",
  run: "in this run",
};

interface Props {
  tokens: TokenSample;
  series: Series;
  range: { from: number; stop: number } | null;
}

export function Worst(props: Props) {
  const { tokenWorst: store } = useSession();
  const of = store.of.value;
  return (
    <section aria-labelledby="worst">
      <h2 id="worst">
        Worst tokens <small>{of === "sample" && props.range !== null ? "in the selected range" : WHERE[of]}</small>
      </h2>
      {!isAlone() && (
        <Segments label="Worst tokens of" options={SCOPES} value={of} choose={(next) => (store.of.value = next)} />
      )}
      {of === "sample" || isAlone() ? <OfSample {...props} /> : <Elsewhere series={props.series} />}
    </section>
  );
}

function OfSample({ tokens, series, range }: Props) {
  const { tokenLook: look } = useSession();
  const rows = useMemo(() => worstOfSample(tokens, series, range), [tokens, series, range]);
  const ratio = series.name === RATIO ? null : tokens.named(RATIO);
  const here = look.chosen.value;
  const body = useRef<HTMLTableSectionElement>(null);
  usePointedRow(body, rows);
  return (
    <>
      {rows.length === 0 ? (
        <p class="quiet">No trained token has a value.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>token</th>
              <th>{harmless(series.title)}</th>
              {ratio !== null && <th>ratio</th>}
              <th>at</th>
            </tr>
          </thead>
          <tbody ref={body}>
            {rows.map((token) => (
              <tr key={token} aria-current={token === here ? "true" : undefined}>
                <td>
                  <button
                    type="button"
                    onClick={() => look.goTo(token)}
                    title="Go to this token"
                    {...pointing(look, token)}
                  >
                    {cut(tokens.label(token, inColumn))}
                  </button>
                </td>
                <td>{valueOf(series.name, series.values[token])}</td>
                {ratio !== null && <td>{valueOf(ratio.name, ratio.values[token])}</td>}
                <td>{figure(token)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** The worst tokens of other samples too, each a link to its place. */
function Elsewhere({ series }: { series: Series }) {
  const { tokenWorst: store } = useSession();
  const reply = store.now.value[0] ?? null;
  if (store.error.value !== null) return <Missing error={store.error.value} again={store.again} />;
  if (reply === null) return <p class="quiet">Loading …</p>;
  return (
    <>
      <Coverage of={reply.coverage} />
      {reply.tokens.length > 0 && (
        <WorstTable tokens={store.rows.value} series={series} isOfRun={store.of.value === "run"} />
      )}
    </>
  );
}
