/** The menu of a chart: axes, settings, curves and downloads. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { STEP } from "../../../lib/charts/across";
import { isShare, MAX_SERIES } from "../../../lib/charts/chart";
import type { Placed } from "../../../lib/charts/layout";
import { useSession } from "../../../state/useSession";
import { Popover } from "../../../ui/overlay/Popover";
import type { Charted, MapCharted } from "../../charts";
import type { ChartTools } from "../choice";
import { CurveSelect } from "./CurveSelect";
import { FigureSelect } from "../figure/FigureSelect";
import { FilterFields } from "../filter/FilterFields";
import { OwnSettings } from "./OwnSettings";
import { RangeFields } from "./RangeFields";
import { Saves } from "./Saves";
import { XSelect } from "./XSelect";
import style from "../Metrics.module.css";

interface Props {
  title: string;
  csv: () => string;
  /** Null for a chart that draws nothing. */
  drawn: Charted | MapCharted | null;
  entries: readonly CatalogueEntry[];
  placed: Placed;
  /** Why it has no curve; empty if it has one. */
  error: string;
  tools: ChartTools;
}

export function ChartMenu({ title, csv, drawn, entries, placed, error, tools }: Props) {
  const session = useSession();
  const { chart } = placed;
  const { alter } = tools;
  return (
    <Popover
      label={`Menu of ${title}`}
      title="Filter, axes, settings, further curves; save as CSV, PNG or SVG"
      button="⋯"
      buttonClass={`action ${style["tool"]}`}
      align="right"
      beside="section"
    >
      {(close) => (
        <div class={style["menu"]}>
          <FilterFields placed={placed} alter={alter} error={error} />
          <FigureSelect chart={chart} alter={alter} />
          <div class={style["x"]}>
            x
            <XSelect
              value={chart.look["x"] === STEP ? "" : chart.look["x"]}
              ofPage={session.layout.x.value}
              entries={entries}
              choose={(x) => alter({ x })}
            />
          </div>
          <RangeFields
            low={chart.look["low"] ?? ""}
            high={chart.look["high"] ?? ""}
            isShare={[placed, ...placed.series].every(isShare)}
            alter={alter}
          />
          <OwnSettings chart={chart} alter={alter} plain={tools.plain} />
          {chart.more.length < MAX_SERIES - 1 && (
            <div class={style["x"]}>
              <CurveSelect placed={placed} entries={entries} join={tools.join} />
            </div>
          )}
          {tools.duplicate !== null && (
            <button
              type="button"
              class="action"
              title="A second chart of this curve, with settings of its own"
              onClick={() => {
                close();
                tools.duplicate?.();
              }}
            >
              Duplicate
            </button>
          )}
          <Saves title={title} csv={csv} drawn={drawn} close={close} />
        </div>
      )}
    </Popover>
  );
}
