/** The menu of a chart: what stands across, the ends of its axis, and what it is saved as. */

import type { CatalogueEntry } from "../../../api/types.gen";
import { STEP } from "../../../lib/charts/across";
import type { Chart } from "../../../lib/charts/chart";
import { useSession } from "../../../state/useSession";
import { Popover } from "../../../ui/overlay/Popover";
import { save } from "../../../ui/controls/save";
import { type Charted, pictureOfChart, pngBlob, svgBlob } from "../../charts";
import type { Change } from "../choice";
import { RangeFields } from "./RangeFields";
import { XSelect } from "./XSelect";
import style from "../Metrics.module.css";

interface Props {
  title: string;
  csv: string;
  /** Null for a chart that draws nothing. */
  drawn: Charted | null;
  entries: readonly CatalogueEntry[];
  chart: Chart;
  alter: Change;
}

export function ChartMenu({ title, csv, drawn, entries, chart, alter }: Props) {
  const session = useSession();
  const name = title.replaceAll(/[^\p{L}\p{N}@._-]+/gu, "-");
  return (
    <Popover
      label={`Menu of ${title}`}
      title="Axes, and save as CSV, PNG or SVG"
      button="⋯"
      buttonClass={`action ${style["tool"]}`}
      align="right"
    >
      {(close) => (
        <div class={style["menu"]}>
          <div class={style["x"]}>
            x
            <XSelect
              value={chart.look["x"] === STEP ? "" : chart.look["x"]}
              ofPage={session.layout.x.value}
              entries={entries}
              choose={(x) => alter({ x })}
            />
          </div>
          <RangeFields low={chart.look["low"] ?? ""} high={chart.look["high"] ?? ""} alter={alter} />
          <a class="action" href={csv} download onClick={() => setTimeout(close)}>
            Data as CSV
          </a>
          {drawn !== null && (
            <>
              <button
                type="button"
                class="action"
                onClick={(event) => {
                  const picture = pictureOfChart(event.currentTarget, drawn);
                  close();
                  void pngBlob(picture).then((blob) => save(blob, `${name}.png`));
                }}
              >
                Picture as PNG
              </button>
              <button
                type="button"
                class="action"
                onClick={(event) => {
                  save(svgBlob(pictureOfChart(event.currentTarget, drawn)), `${name}.svg`);
                  close();
                }}
              >
                Picture as SVG
              </button>
            </>
          )}
        </div>
      )}
    </Popover>
  );
}
