/** Saves the data or the picture of a chart. */

import type { Picture } from "../../../lib/charts/picture";
import { csvOf } from "../../../lib/distribution/heatMap";
import { Download } from "../../../ui/controls/Download";
import { save } from "../../../ui/controls/save";
import { type Charted, type MapCharted, pictureOfChart, pictureOfMap, pngBlob, svgBlob } from "../../charts";

interface Props {
  title: string;
  /** The address of the points. */
  csv: () => string;
  /** Null for a chart that draws nothing. */
  drawn: Charted | MapCharted | null;
  close: () => void;
}

export function Saves({ title, csv, drawn, close }: Props) {
  const name = title.replaceAll(/[^\p{L}\p{N}@._-]+/gu, "-");
  return (
    <>
      {drawn !== null && "map" in drawn ? (
        <button
          type="button"
          class="action"
          onClick={() => {
            save(new Blob([csvOf(drawn.map)], { type: "text/csv" }), `${name}.csv`);
            close();
          }}
        >
          Data as CSV
        </button>
      ) : (
        <Download class="action" href={csv()} then={close}>
          Data as CSV
        </Download>
      )}
      {drawn !== null && (
        <>
          <button
            type="button"
            class="action"
            onClick={(event) => {
              const picture = pictureFor(event.currentTarget, drawn);
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
              save(svgBlob(pictureFor(event.currentTarget, drawn)), `${name}.svg`);
              close();
            }}
          >
            Picture as SVG
          </button>
        </>
      )}
    </>
  );
}

const pictureFor = (element: HTMLElement, drawn: Charted | MapCharted): Picture =>
  "map" in drawn ? pictureOfMap(element, drawn) : pictureOfChart(element, drawn);
