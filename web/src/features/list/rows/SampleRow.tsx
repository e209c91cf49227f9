/** A sample in the list: its coloured values, the start of its response or prompt, and its length. */

import { useSession } from "../../../state/useSession";
import type { Session } from "../../../state/session";
import type { SampleItem, WireNumber } from "../../../api/types.gen";
import { without } from "../../../lib/diff/commonWords";
import type { Common } from "../../../lib/diff/commonInSamples";
import { exact, figure, score, signed, toNumber } from "../../../lib/numbers/numbers";
import { cellColour } from "../../../lib/colour/scales";
import { sampleMark } from "../../../state/marks";
import { SHORT } from "../../../state/run/columns";
import { shownPrompt, shownResponse } from "../../../state/browser/previews";
import { bare, ending, preview } from "../../../lib/sample/preview";
import { isPlainPress } from "../../../state/place/place";
import { type Preview, view } from "../../../state/browser/listView";
import { Text } from "../../../ui/text/Text";
import { harmless } from "../../../lib/text/invisible";
import style from "./Row.module.css";

export const SAMPLE_PX = 48;

interface Props {
  /** Undefined while its page is loading. */
  item: SampleItem | undefined;
  columns: readonly string[];
  isHere: boolean;
  canFocus: boolean;
  isOfSteps: boolean;
  common: Common;
  /** The position of the row, as the text of a style: rows that do not move are not drawn again. */
  box: string;
}

const FINE: ReadonlySet<string> = new Set(["completed", "unknown"]);

/** The mark of a discarded sample with nothing to read; empty for others. */
const unfinished = ({ status, response_chars }: SampleItem): string =>
  response_chars > 0
    ? ""
    : status === "aborted"
      ? "cancelled, no answer"
      : status === "error"
        ? "failed, no answer"
        : "";

/** Handles a press on a row: on a value, offer to filter by it; elsewhere, open the sample. */
export function onRow(
  session: Session,
  id: string,
  valueOf: (column: string) => WireNumber,
): (event: MouseEvent) => void {
  return (event) => {
    if (!isPlainPress(event)) return;
    event.preventDefault();
    const value = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-column]") : null;
    const column = value?.dataset["column"];
    if (value !== null && column !== undefined) session.filter.offerFilter(column, valueOf(column), value);
    else {
      session.view.isWide.value = false;
      session.place.go({ sample: id, list: false });
    }
  };
}

const tooltipOf = (item: SampleItem): string => {
  const end = item.response_end === "" ? "" : `\n…\n${bare(item.response_end)}`;
  return `${bare(item.prompt)}\n\n${bare(item.response)}${end}`;
};

export function SampleRow({ item, columns, isHere, canFocus, isOfSteps, common, box }: Props) {
  const session = useSession();
  if (item === undefined) return <li class={style["row"]} style={box} aria-busy="true" />;
  const mark =
    item.discarded === ""
      ? FINE.has(item.status)
        ? ""
        : item.status
      : session.place.field.discarded.value
        ? unfinished(item)
        : `discarded: ${item.discarded}`;
  const shown = view.value.preview ?? session.columns.usualPreview.value;
  const length = item.response_tokens ?? item.response_chars;
  const unit = item.response_tokens === null ? "characters" : "tokens";
  const [first, ...others] = columns;
  const fixedValues = new Map<string, WireNumber>([
    ["status", item.status],
    ["discarded", item.discarded],
    ["step", item.step],
  ]);
  const valueOf = (name: string): WireNumber => valueIn(session, item, name, columns) ?? fixedValues.get(name) ?? null;
  return (
    <li class={style["row"]} style={box}>
      <a
        href={session.place.href({ sample: item.id, list: false })}
        class={`${style["link"]} ${style["sample"]}`}
        aria-current={isHere ? "true" : undefined}
        tabIndex={canFocus ? 0 : -1}
        title={view.value.hasTooltips ? harmless(tooltipOf(item)) : undefined}
        onClick={onRow(session, item.id, valueOf)}
      >
        {first === undefined ? <span /> : <Value name={first} value={valueOf(first)} isFirst />}
        <span class={style["preview"]}>
          <span class={style["line"]}>
            {mark !== "" && (
              <em data-column={item.discarded === "" ? "status" : "discarded"}>
                <Text text={mark} />{" "}
              </em>
            )}
            <Excerpt item={item} shown={shown} common={common} />
          </span>
          <small class={style["line"]}>
            {isOfSteps && <span data-column="step">step {figure(item.step)} · </span>}
            {others.length > 0 ? (
              others.map((name) => <Value key={name} name={name} value={valueOf(name)} />)
            ) : shown === "prompt" ? (
              <Text text={preview(shownResponse(item.response)).text} />
            ) : (
              <Text text={without(shownPrompt(item.prompt), common.prompts)} />
            )}
          </small>
        </span>
        <span class={style["length"]} title={`${figure(length)} ${unit}`}>
          {figure(length)}
        </span>
      </a>
    </li>
  );
}

/** Siblings that begin alike differ first where their previews end: fewer characters of such a text say nothing. */
const LEAST_CHARS = 20;

/** The preview that the reader chose; the end of a response is aligned at the end of its line and cut at the left. */
export function Excerpt({ item, shown, common }: { item: SampleItem; shown: Preview; common: Common }) {
  const start = preview(shownResponse(item.response));
  const isThought = shown === "response" && start.isThought;
  const own = without(start.text, common.responses);
  const text =
    shown === "response"
      ? item.response_end !== "" && own.length < LEAST_CHARS
        ? start.text
        : own
      : shown === "end"
        ? ending(item)
        : without(shownPrompt(item.prompt), common.prompts);
  if (text.trim() === "") return <span class="quiet">(empty)</span>;
  if (shown === "end") {
    return (
      <>
        {item.response_end !== "" && "…"}
        <span class={style["end"]}>
          <span>
            <Text text={text} />
          </span>
        </span>
      </>
    );
  }
  return (
    <>
      {isThought && (
        <i class={style["thought"]} title="starts with a thought">
          ▸{" "}
        </i>
      )}
      <Text text={text} />
    </>
  );
}

/** The text of a value, in the form of its column. */
export function valueText(session: Session, name: string, value: WireNumber): string {
  if (session.columns.named(name)?.kind === "text") return value === null ? "" : String(value);
  const { kind } = session.columns.scale(name);
  if (kind === "score") return score(value, "–");
  return kind === "signed" ? signed(value, "–") : figure(value, "–");
}

/** The value of a column in a row. A judgement is that of the person, as it is now. */
export const valueIn = (session: Session, item: SampleItem, name: string, columns: readonly string[]): WireNumber =>
  name === session.columns.judgement.value
    ? sampleMark(session.place.field.run.value ?? "", item.id).judgement || null
    : (item.values[columns.indexOf(name)] ?? null);

/** A short name: the last part of a path. */
const short = (session: Session, name: string): string =>
  SHORT.get(name) ??
  (session.columns.label(name) === name
    ? (name.split(/[./]/).at(-1) ?? name)
    : session.columns.label(name).toLowerCase());

/** A dot in the colour of a value, and the number in ink; a press offers to filter by it. */
function Value({ name, value, isFirst = false }: { name: string; value: WireNumber; isFirst?: boolean }) {
  const session = useSession();
  const background = cellColour(session.columns.scale(name), toNumber(value));
  const words = valueText(session, name, value);
  return (
    <span
      class={`${style["value"]} ${isFirst ? style["first"] : ""}`}
      data-column={name}
      title={`${session.columns.label(name)}: ${exact(value)}. Press to filter by it`}
    >
      {session.columns.named(name)?.kind !== "text" && (
        <i
          class={background === null ? style["none"] : undefined}
          style={background === null ? undefined : { backgroundColor: background }}
        />
      )}
      {!isFirst && (
        <span class="quiet">
          <Text text={short(session, name)} />{" "}
        </span>
      )}
      {typeof value === "number" ? words : <Text text={words} />}
    </span>
  );
}
