/** A group in the list: two lines of its prompt, a strip of cells a column, a cell a sample; means and spread of the first. */

import type { GroupItem, WireNumber } from "../../api/types.gen";
import { without } from "../../lib/alike";
import { bare } from "../../lib/preview";
import { groupIds } from "../../lib/listing";
import { count, exact, figure, score, toNumber } from "../../lib/numbers";
import { cellColour, inkOf } from "../../lib/scales";
import { groupSize, label, scale } from "../../state/columns";
import { range } from "../../state/ranges";
import { field, go, href } from "../../state/place";
import { view } from "../../state/view";
import { Icon } from "../../ui/Icon";
import { ReasonBadge } from "../discarded/ReasonBadge";
import { Text } from "../../ui/Text";
import { harmless } from "../../lib/visible";
import style from "./Row.module.css";

/** More cells than these cannot be told apart: a group's other samples are in the list of samples. */
const MOST_CELLS = 64;

/** More cells than these have no room between them. */
const MOST_APART = 32;
const CELL_PX = 10;
const MOST_PX = 128;
const REST_PX = 40;

/** The width of a strip of so many cells. */
export const stripPx = (samples: number): number => Math.min(MOST_PX, samples * CELL_PX) + (samples > MOST_CELLS ? REST_PX : 0);

/** The height of a row with so many strips. */
export const groupPx = (strips: number): number => Math.max(52, 16 + 18 * strips);

interface Props {
  /** Undefined while its page is on its way. */
  group: GroupItem | undefined;
  columns: readonly string[];
  isHere: boolean;
  /** The place of the sample that is looked at, where it is one of the group. */
  at: number | null;
  canFocus: boolean;
  isOfSteps: boolean;
  /** Words that all prompts around it have. */
  common: ReadonlySet<string>;
  /** Where it stands: a style, as a text, so that rows that stay where they are need not be drawn again. */
  box: string;
}

/** What stands in the columns of the rows below. */
export function GroupHead({ columns }: { columns: readonly string[] }) {
  const [first] = columns;
  return (
    <div class={`${style["group"]} ${style["head"]}`} aria-hidden="true">
      <span>Prompt</span>
      <span>{first === undefined ? "" : columns.length > 1 ? "Samples" : harmless(label(first))}{first === "reward" && columns.length === 1 && <Legend />}</span>
      {first !== undefined && <span>{first === "reward" ? "Mean ± std" : "Mean"}</span>}
    </div>
  );
}

/** What the colours of the cells mean. */
function Legend() {
  const { low, high } = range.value;
  return (
    <small class={style["legend"]} title={`from ${score(low)} to ${score(high)}`}>
      {[0, 1, 2, 3, 4].map((stop) => <i key={stop} style={{ background: `var(--reward-${stop})` }} />)}
    </small>
  );
}

export function GroupRow({ group, columns, isHere, at, canFocus, isOfSteps, common, box }: Props) {
  if (group === undefined) return <li class={style["row"]} style={box} aria-busy="true" />;
  const ids = groupIds(group);
  const here = at === null ? -1 : at - group.first;
  const to = (member: number) => ({ sample: ids[member] ?? ids[0] ?? null, list: false });
  const onClick = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-member]") : null;
    go(to(cell === null ? Math.max(0, here) : Number(cell.dataset["member"])));
  };
  const first = columns[0];
  const mean = group.means[0] ?? null;
  const isReward = first === "reward";
  return (
    <li class={style["row"]} style={box}>
      <a
        href={href(to(Math.max(0, here)))}
        class={`${style["link"]} ${style["group"]}`}
        aria-current={isHere ? "true" : undefined}
        tabIndex={canFocus ? 0 : -1}
        title={view.value.hasTooltips ? harmless(bare(group.prompt)) : undefined}
        onClick={onClick}
      >
        <span class={style["prompt"]}>
          {isOfSteps && <small>step {figure(group.step)} · </small>}
          {field.discarded.value && group.discarded !== "" && <ReasonBadge reason={group.discarded} />}
          {group.prompt.trim() === "" ? <span class="quiet">(no prompt)</span> : <Text text={without(bare(group.prompt), common)} />}
        </span>
        <span class={style["strips"]}>
          {columns.map((name, column) => (
            <Strip key={name} name={name} values={group.cells[column] ?? []} here={here} samples={group.samples} />
          ))}
        </span>
        {first !== undefined && (
          <span class={style["mean"]} title={`${count(group.samples, "sample")}, mean ${label(first)} ${exact(mean)}`}>
            <b style={{ color: inkOf(scale(first), toNumber(mean)) }}>{score(mean, "–")}</b>
            <small>
              {group.samples !== groupSize.value && `n ${figure(group.samples)}`}
              {isReward && group.samples > 1 && group.reward_std !== null && ` ±${score(group.reward_std)}`}
            </small>
          </span>
        )}
      </a>
      <button type="button" class={style["aside"]} tabIndex={canFocus ? 0 : -1} aria-label="Side by side" title="All samples of this group, side by side (v)" onClick={() => go({ ...to(Math.max(0, here)), view: "group" })}>
        <Icon sign="columns" />
      </button>
    </li>
  );
}

function Strip({ name, values, here, samples }: { name: string; values: readonly WireNumber[]; here: number; samples: number }) {
  const drawn = values.slice(0, MOST_CELLS);
  return (
    <span title={label(name)} class={`${style["strip"]} ${drawn.length > MOST_APART ? style["dense"] : ""}`} style={{ width: `${stripPx(samples)}px` }}>
      {drawn.map((value, member) => {
        const background = cellColour(scale(name), toNumber(value));
        return (
          <i
            // The samples of a group never change their order: their place is their identity.
            // oxlint-disable-next-line react/no-array-index-key
            key={member}
            data-member={member}
            class={`${member === here ? style["chosen"] : ""} ${background === null ? style["none"] : ""}`}
            style={background === null ? undefined : { background }}
            title={view.value.hasTooltips ? `Sample ${member + 1}: ${label(name)} ${exact(value)}` : undefined}
          />
        );
      })}
      {samples > drawn.length && <small>+{figure(samples - drawn.length)}</small>}
    </span>
  );
}
