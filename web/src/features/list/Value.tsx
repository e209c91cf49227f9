/** A value of a sample: a dot in its colour, and the number in ink; pressed, it offers to filter by it. */

import type { WireNumber } from "../../api/types.gen";
import { exact, figure, score, signed, toNumber } from "../../lib/numbers";
import { cellColour } from "../../lib/scales";
import { columnOf, label, scale } from "../../state/columns";
import { Text } from "../../ui/Text";
import style from "./Row.module.css";

/** A value in words, as its column has it. */
export function said(name: string, value: WireNumber): string {
  if (columnOf(name)?.kind === "text") return value === null ? "" : String(value);
  const { kind } = scale(name);
  if (kind === "score") return score(value, "–");
  return kind === "signed" ? signed(value, "–") : figure(value, "–");
}

const SHORT: ReadonlyMap<string, string> = new Map([["response_tokens", "tokens"], ["response_chars", "characters"], ["prompt_tokens", "prompt"], ["total_tokens", "in all"]]);

/** A name where there is little room: the last part of a path. */
const short = (name: string): string => SHORT.get(name) ?? (label(name) === name ? (name.split(/[./]/).at(-1) ?? name) : label(name).toLowerCase());

export function Value({ name, value, isFirst = false }: { name: string; value: WireNumber; isFirst?: boolean }) {
  const background = cellColour(scale(name), toNumber(value));
  return (
    <span class={`${style["value"]} ${isFirst ? style["first"] : ""}`} data-column={name} title={`${label(name)}: ${exact(value)}. Press to filter by it`}>
      {columnOf(name)?.kind !== "text" && <i class={background === null ? style["none"] : undefined} style={background === null ? undefined : { background }} />}
      {!isFirst && <span class="quiet"><Text text={short(name)} /> </span>}
      <Text text={said(name, value)} />
    </span>
  );
}
