/** What a chart is saved as: its points, or the picture that is drawn. */

import { Popover } from "../../ui/overlay/Popover";
import { save } from "../../ui/controls/save";
import { type Charted, pictureOfChart, pngBlob, svgBlob } from "../charts";
import style from "./Metrics.module.css";

interface Props {
  title: string;
  csv: string;
  /** Null for a chart that draws nothing. */
  drawn: Charted | null;
}

export function ChartMenu({ title, csv, drawn }: Props) {
  const name = title.replaceAll(/[^\p{L}\p{N}@._-]+/gu, "-");
  return (
    <Popover
      label={`Save ${title}`}
      title="Save as CSV, PNG or SVG"
      button="↓"
      buttonClass={`action ${style["tool"]}`}
      align="right"
    >
      {(close) => (
        <div class={style["menu"]}>
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
