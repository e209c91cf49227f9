/** The table of samples: any columns, sorted by a press on a heading, as wide as the reader likes. */

import { useSession } from "../../../state/useSession";
import type { Session } from "../../../state/session";
import type { Common } from "../../../lib/diff/commonInSamples";
import { bare, preview } from "../../../lib/sample/preview";
import type { SampleItem, WireNumber } from "../../../api/types.gen";
import { exact, toNumber } from "../../../lib/numbers/numbers";
import { cellColour } from "../../../lib/colour/scales";
import { chooseView, view, WIDTH } from "../../../state/browser/listView";
import { shownPrompt } from "../../../state/browser/previews";
import { Divider } from "../../../ui/layout/Divider";
import { Excerpt, onRow, valueIn, valueText } from "./SampleRow";
import { Text } from "../../../ui/text/Text";
import { harmless } from "../../../lib/text/invisible";
import style from "./Table.module.css";

export const ROW_PX = 28;
const TEXT_PX = 240;
const ID_PX = 180;
const USUAL_PX = 112;
const HEADINGS: ReadonlyMap<string, string> = new Map([
  ["id", "Sample"],
  ["label", "Ground truth"],
  ["ref_response", "Reference"],
]);
/** Columns of texts, which are wide. */
const TEXTS: ReadonlySet<string> = new Set(["response", "ref_response", "prompt"]);

export interface TableColumns {
  /** The requested columns, in the order of the values. */
  valueNames: readonly string[];
  names: readonly string[];
  /** For `grid-template-columns`. */
  template: string;
  minWidth: string;
}

const usualOf = (name: string): number => (name === "id" ? ID_PX : TEXTS.has(name) ? TEXT_PX : USUAL_PX);
const widthOf = (name: string): number =>
  (Object.hasOwn(view.value.widths, name) ? view.value.widths[name] : undefined) ?? usualOf(name);

/** The columns of the table: first the id, last the start of the response. */
export function tableColumns(session: Session, valueNames: readonly string[]): TableColumns {
  const names = ["id", ...valueNames.filter((name) => !session.view.isIdle(name)), "response"];
  const widths = names.map(widthOf);
  return {
    valueNames,
    names,
    template: widths.map((px, i) => (i === widths.length - 1 ? `minmax(${px}px, 1fr)` : `${px}px`)).join(" "),
    minWidth: `${widths.reduce((sum, px) => sum + px, 0)}px`,
  };
}

export function TableHead({ columns }: { columns: TableColumns }) {
  const session = useSession();
  const sort = session.place.field.sort.value;
  const descending = session.place.field.descending.value;
  return (
    <div class={style["head"]} style={{ gridTemplateColumns: columns.template, minWidth: columns.minWidth }}>
      {columns.names.map((name) => {
        const key = name === "id" ? "index" : name === "response" ? "length" : name;
        const isHere = key === sort;
        const words = HEADINGS.get(name) ?? session.columns.label(name);
        const isNumber = session.columns.named(name)?.kind === "number";
        if (name === "prompt")
          return (
            <div key={name} class={style["heading"]}>
              <span class={`clip ${style["sort"]}`}>{words}</span>
            </div>
          );
        const order = key === "length" ? "length of the response" : key === "index" ? "the order of the run" : words;
        return (
          <div key={name} class={style["heading"]}>
            <button
              type="button"
              class={`${style["sort"]} ${isNumber ? style["number"] : ""}`}
              aria-pressed={isHere}
              title={`Sort by ${order}${isHere ? ", in reverse order" : ""}`}
              onClick={() =>
                session.place.go({
                  sort: key,
                  descending: isHere ? !descending : session.columns.named(key)?.kind === "number",
                })
              }
            >
              <span class="clip">{words}</span>
              {isHere && <span aria-hidden="true">{descending ? "↓" : "↑"}</span>}
            </button>
            <Divider
              class={style["grip"]}
              label={`Width of ${words}`}
              width={widthOf(name)}
              limits={{ ...WIDTH, usual: usualOf(name) }}
              choose={(px) => chooseView({ widths: { ...view.peek().widths, [name]: px } })}
            />
          </div>
        );
      })}
    </div>
  );
}

interface Props {
  item: SampleItem | undefined;
  columns: TableColumns;
  isHere: boolean;
  canFocus: boolean;
  /** Words that all responses of the list share. */
  common: Common;
  /** The position of the row, as the text of a style: rows that do not move are not drawn again. */
  box: string;
}

export function TableRow({ item, columns, isHere, canFocus, common, box }: Props) {
  const session = useSession();
  if (item === undefined) return <li class={style["row"]} style={box} aria-busy="true" />;
  const valueOf = (name: string): WireNumber => valueIn(session, item, name, columns.valueNames);
  const isOfEnd = (view.value.preview ?? session.columns.usualPreview.value) === "end";
  return (
    <li class={style["row"]} style={box}>
      <a
        href={session.place.href({ sample: item.id, list: false })}
        class={style["link"]}
        style={{ gridTemplateColumns: columns.template }}
        aria-current={isHere ? "true" : undefined}
        tabIndex={canFocus ? 0 : -1}
        onClick={onRow(session, item.id, valueOf)}
      >
        <span class={style["id"]}>{item.id}</span>
        {columns.names
          .slice(1, -1)
          .map((name) =>
            name === "prompt" ? (
              <PromptCell key={name} prompt={item.prompt} />
            ) : (
              <Cell key={name} name={name} value={valueOf(name)} />
            ),
          )}
        <span
          class={style[isOfEnd ? "ending" : "text"]}
          title={view.value.hasTooltips ? harmless(bare(item.response)) : undefined}
        >
          <Excerpt item={item} shown={isOfEnd ? "end" : "response"} common={common} />
        </span>
      </a>
    </li>
  );
}

function PromptCell({ prompt }: { prompt: string }) {
  return (
    <span class={style["text"]} title={view.value.hasTooltips ? harmless(bare(prompt)) : undefined}>
      <Text text={shownPrompt(prompt)} />
    </span>
  );
}

function Cell({ name, value }: { name: string; value: WireNumber }) {
  const session = useSession();
  const isText = session.columns.named(name)?.kind === "text";
  const background = cellColour(session.columns.scale(name), toNumber(value));
  return (
    <span class={isText ? style["text"] : style["number"]} title={exact(value)}>
      {!isText && background !== null && <i style={{ backgroundColor: background }} />}
      <span data-column={name} class="clip">
        <Text text={name === "ref_response" ? preview(String(value ?? "")).text : valueText(session, name, value)} />
      </span>
    </span>
  );
}
