/** A group in the list: prompt, a strip of cells for each column, and mean and spread of the first column. */

import { useSession } from "../../../state/useSession";
import type { GroupItem, WireNumber } from "../../../api/types.gen";
import { type Shared, without } from "../../../lib/diff/commonWords";
import { shownPrompt } from "../../../state/browser/previews";
import { bare } from "../../../lib/sample/preview";
import { groupIds } from "../../../state/list/list";
import { count, exact, figure, finite, score, toNumber } from "../../../lib/numbers/numbers";
import { cellColour, inkOf } from "../../../lib/colour/scales";
import { MOST_CELLS } from "../../../lib/list/strips";
import { isPlainPress } from "../../../state/place/place";
import type { Strips } from "../../../state/list/strips";
import { view } from "../../../state/browser/listView";
import { Icon } from "../../../ui/controls/Icon";
import { ReasonBadge } from "../../discarded";
import { Text } from "../../../ui/text/Text";
import { harmless } from "../../../lib/text/invisible";
import style from "./Row.module.css";

/** With more cells, there are no gaps between them. */
const MOST_APART = 32;

/**
 * The most numbers that a screen reader reads of a row's first strip; of longer and other strips, it reads the lowest
 * and the highest.
 */
const MOST_SAID = 16;

interface Props {
  /** Undefined while its page is loading. */
  group: GroupItem | undefined;
  strips: Strips;
  isHere: boolean;
  /** The place of the open sample, if it is one of the group. */
  at: number | null;
  canFocus: boolean;
  isOfSteps: boolean;
  /** What the prompts of the list share. */
  common: Shared;
  /** The position of the row, as the text of a style: rows that do not move are not drawn again. */
  box: string;
}

export function GroupRow({ group, strips: { strips, isBeside }, isHere, at, canFocus, isOfSteps, common, box }: Props) {
  const session = useSession();
  if (group === undefined) return <li class={style["row"]} style={box} aria-busy="true" />;
  const ids = groupIds(group);
  const here = at === null ? -1 : at - group.first;
  const to = (member: number) => ({ sample: ids[member] ?? ids[0] ?? null, list: false });
  const onClick = (event: MouseEvent): void => {
    if (!isPlainPress(event)) return;
    event.preventDefault();
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-member]") : null;
    session.place.go(to(cell === null ? Math.max(0, here) : Number(cell.dataset["member"])));
  };
  const [first] = strips;
  const mean = first === undefined ? null : (group.means[first.at] ?? null);
  const isReward = first?.name === "reward";
  const name = harmless(session.columns.label(first?.name ?? ""));
  return (
    <li class={style["row"]} style={box}>
      <a
        href={session.place.href(to(Math.max(0, here)))}
        class={`${style["link"]} ${style["group"]} ${isBeside ? "" : style["below"]}`}
        aria-current={isHere ? "true" : undefined}
        tabIndex={canFocus ? 0 : -1}
        title={view.value.hasTooltips ? harmless(bare(group.prompt)) : undefined}
        onClick={onClick}
      >
        <span class={style["prompt"]}>
          {isOfSteps && <small>step {figure(group.step)} · </small>}
          {session.place.field.discarded.value && group.discarded !== "" && <ReasonBadge reason={group.discarded} />}
          {group.prompt.trim() === "" ? (
            <span class="quiet">(no prompt)</span>
          ) : (
            <Text text={without(shownPrompt(group.prompt), common)} />
          )}
        </span>
        <span class={style["strips"]}>
          {strips.map((strip, nth) => (
            <Strip
              key={strip.name}
              strip={strip}
              isFirst={nth === 0}
              values={group.cells[strip.at] ?? []}
              here={here}
              samples={group.samples}
            />
          ))}
        </span>
        {first !== undefined && (
          <span class={style["mean"]} title={`${count(group.samples, "sample")}, mean ${name} ${exact(mean)}`}>
            <b style={{ color: inkOf(first.scale, toNumber(mean)) }}>{score(mean, "–")}</b>
            <small>
              {group.samples !== session.columns.groupSize.value && `n ${figure(group.samples)}`}
              {isReward && group.samples > 1 && group.reward_std !== null && ` ±${score(group.reward_std)}`}
            </small>
          </span>
        )}
      </a>
      <button
        type="button"
        class={`${style["aside"]} ${isBeside ? "" : style["above"]}`}
        tabIndex={canFocus ? 0 : -1}
        aria-label="Side by side"
        title="All samples of this group, side by side (v)"
        onClick={() => session.place.go({ ...to(Math.max(0, here)), view: "group" })}
      >
        <Icon sign="columns" />
      </button>
    </li>
  );
}

interface StripProps {
  strip: Strips["strips"][number];
  isFirst: boolean;
  values: readonly WireNumber[];
  here: number;
  samples: number;
}

function Strip({ strip: { name, px, scale }, isFirst, values, here, samples }: StripProps) {
  const session = useSession();
  const drawn = values.slice(0, MOST_CELLS);
  const words = harmless(session.columns.label(name));
  const hasEach = isFirst && drawn.length <= MOST_SAID;
  const spoken = hasEach ? drawn.map((value) => figure(value, "none")).join(", ") : between(drawn);
  return (
    <span
      class={`${style["strip"]} ${isFirst ? "" : style["small"]} ${drawn.length > MOST_APART ? style["dense"] : ""}`}
      style={{ width: `${px}px` }}
      role="img"
      aria-label={`${words}: ${spoken}`}
    >
      {drawn.map((value, member) => {
        const background = cellColour(scale, toNumber(value));
        return (
          <i
            // The samples of a group never change their order: their place is their identity.
            key={member}
            data-member={member}
            class={`${member === here ? style["chosen"] : ""} ${background === null ? style["none"] : ""}`}
            style={background === null ? undefined : { backgroundColor: background }}
            title={view.value.hasTooltips ? `Sample ${member + 1}: ${words} ${exact(value)}` : undefined}
          />
        );
      })}
      {isFirst && samples > drawn.length && <small>+{figure(samples - drawn.length)}</small>}
    </span>
  );
}

function between(values: readonly WireNumber[]): string {
  const numbers = values.map(finite).filter((value) => value !== null);
  return numbers.length === 0 ? "none" : `${figure(Math.min(...numbers))} to ${figure(Math.max(...numbers))}`;
}
