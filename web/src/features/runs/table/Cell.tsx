/** A cell of the table of runs. */

import type { RunItem } from "../../../api/types.gen";
import { count, figure, finite, score } from "../../../lib/numbers/numbers";
import { ago, span } from "../../../lib/numbers/duration";
import { harmless } from "../../../lib/text/invisible";
import { activityOf, MEANING } from "../../../state/run/activity";
import { colourOf } from "../../../state/marks";
import { changedS, samplesOf } from "../../../state/runs";
import { Text } from "../../../ui/text/Text";
import { type Column, type Differing, mainSplit, rewardOf } from "./columns";
import { HEIGHT, useSpark, WIDTH } from "../useSpark";
import style from "./RunTable.module.css";

interface Props {
  item: RunItem;
  column: Column;
  differing: Differing;
  /** Without headings, a number has its unit beside it. */
  isNarrow: boolean;
}

export function Cell({ item, column, differing, isNarrow }: Props) {
  const split = mainSplit(item);
  switch (column.key) {
    case "curve":
      return <Curve item={item} />;
    case "reward":
      return <b>{score(rewardOf(item), "–")}</b>;
    case "metric": {
      const value = column.value?.(item);
      return <b>{(column.write ?? score)(typeof value === "number" ? value : null, "–")}</b>;
    }
    case "steps":
      return <>{isNarrow ? count(split?.steps ?? 0, "step") : figure(split?.steps ?? null, "–")}</>;
    case "samples":
      return <Samples item={item} isNarrow={isNarrow} />;
    case "length":
      return <>{lengthWords(item)}</>;
    case "status":
      return <Status item={item} />;
    case "format":
      return (
        <span class="clip" title={harmless(item.format)}>
          <Text text={item.format} />
        </span>
      );
    case "changed":
      return <Changed item={item} isNarrow={isNarrow} />;
    default: {
      const value = differing.get(item.id)?.get(column.key.slice("config:".length));
      return value === undefined ? (
        <span class="quiet">–</span>
      ) : (
        <span class="clip" title={harmless(value)}>
          <Text text={value} />
        </span>
      );
    }
  }
}

function Curve({ item }: { item: RunItem }) {
  const spark = useSpark(item);
  if (spark === null || spark.d === "") return null;
  return (
    <svg
      class={style["spark"]}
      viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={spark.words}
    >
      <path d={spark.d} vector-effect="non-scaling-stroke" style={{ stroke: `var(--run-${colourOf(item.id)})` }} />
    </svg>
  );
}

function Samples({ item, isNarrow }: Pick<Props, "item" | "isNarrow">) {
  const discarded = item.splits.reduce((sum, split) => sum + (split.discarded ?? 0), 0);
  return (
    <span class={style["two"]}>
      {isNarrow ? `${brief(samplesOf(item))} samples` : figure(samplesOf(item))}
      {discarded > 0 && !isNarrow && <small>{figure(discarded)} discarded</small>}
    </span>
  );
}

/** Thousands and millions in four characters, for narrow places. */
function brief(number: number): string {
  if (number < 10_000) return figure(number);
  return number < 1e6 ? `${figure(Math.round(number / 1000))}k` : `${figure(Number((number / 1e6).toPrecision(3)))}M`;
}

function lengthWords(item: RunItem): string {
  const split = mainSplit(item);
  const tokens = finite(split?.last_response_tokens);
  const chars = finite(split?.last_response_chars);
  if (tokens !== null) return `${figure(Math.round(tokens))} tok`;
  return chars === null ? "–" : `${figure(Math.round(chars))} char`;
}

function Status({ item }: { item: RunItem }) {
  const { phase, done_bytes: done, total_bytes: total } = item.progress;
  if (phase === "scalars")
    return <span class="quiet">indexing{total > 0 ? ` ${Math.floor((100 * done) / total)}%` : ""}</span>;
  const doing = activityOf(item);
  if (doing === "unknown")
    return (
      <span class="quiet" title={MEANING[doing](span(item.quiet_s))}>
        –
      </span>
    );
  return (
    <span class={style["status"]} title={MEANING[doing](span(item.quiet_s))}>
      <i class={style[doing]} />
      {doing}
    </span>
  );
}

function Changed({ item, isNarrow }: Pick<Props, "item" | "isNarrow">) {
  const seconds = changedS(item);
  if (seconds === null) return <span class="quiet">–</span>;
  if (!isNarrow) return <>{ago(seconds)}</>;
  const doing = activityOf(item);
  return (
    <>
      {doing === "unknown" ? "changed" : doing} {ago(seconds)}
    </>
  );
}
