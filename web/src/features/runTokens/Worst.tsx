/** The tokens of the split with the worst, highest or lowest values of a series, each a link to its place. */

import type { RunSeries } from "../../api/types.gen";
import { sideOf } from "../../lib/tokens/worst";
import { worstTokens } from "../../state/tokens/worst";
import { useSession } from "../../state/useSession";
import { Segments } from "../../ui/controls/Segments";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { WorstTable } from "../tokens";
import { option, setOption, useAnswer } from "./scope";
import style from "./RunTokens.module.css";

const SIDES = [
  { value: "both", label: "either side" },
  { value: "high", label: "highest" },
  { value: "low", label: "lowest" },
] as const;

export function Worst({ series }: { series: RunSeries }) {
  const session = useSession();
  const usual = sideOf(series);
  const sides = usual === "both" ? SIDES : SIDES.slice(1);
  const side = sides.find(({ value }) => value === option(session, "side"))?.value ?? usual;
  const loaded = useAnswer(["worst", series.name, side], (id, split) => worstTokens(id, { split }, series, side));
  const reply = loaded.value;
  return (
    <section aria-labelledby="worst-of-run">
      <div class={style["heading"]}>
        <h2 id="worst-of-run">Worst tokens</h2>
        <Segments
          label="Worst tokens"
          options={sides}
          value={side}
          choose={(next) => setOption(session, { side: next === usual ? "" : next })}
        />
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply !== null && <Coverage of={reply.coverage} />}
      {reply !== null && reply.tokens.length > 0 && <WorstTable tokens={reply.tokens} series={series} isOfRun />}
    </section>
  );
}
