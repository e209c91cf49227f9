/** The shares of an update by sample, group, role or token: a bar and its words for each rule. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Place } from "../../../lib/address/address";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { largest, type Share, type ShareRow } from "../../../lib/tokens/shares";
import type { ChosenUpdate } from "../../../state/tokens/update";
import { useSession } from "../../../state/useSession";
import { cut } from "../aside/labels";
import { percent } from "../../../lib/numbers/percent";
import style from "./Update.module.css";

/** The number of rows before *more*. */
const MOST = 12;
/** The most characters of a row's name. */
const MOST_CHARS = 24;

/** The subject of a row, in words, and the place that it opens. */
export interface Named {
  words: string;
  title?: string;
  to?: Partial<Place> | null;
  isHere?: boolean;
  isCode?: boolean;
}

interface Props {
  title: string;
  rows: readonly ShareRow[];
  rules: readonly ChosenUpdate[];
  nameOf: (name: string) => Named;
  children?: ComponentChildren;
}

/** The heads of a table with a column for each rule. */
export function Heads({ first, rules }: { first: string; rules: readonly ChosenUpdate[] }) {
  return (
    <tr>
      <th scope="col">{first}</th>
      {rules.map(({ rule }) => (
        <th key={rule.name} scope="col">
          {harmless(rule.title)}
        </th>
      ))}
    </tr>
  );
}

export function ShareTable({ title, rows, rules, nameOf, children }: Props) {
  const [isWhole, showAll] = useState(false);
  const most = largest(rows);
  return (
    <section aria-labelledby={`update-by-${title}`}>
      <h2 id={`update-by-${title}`}>
        By {title} <small>share of the update</small>
      </h2>
      {children}
      <table class={style["shares"]}>
        <thead>
          <Heads first={title} rules={rules} />
        </thead>
        <tbody>
          {(isWhole ? rows : rows.slice(0, MOST)).map(({ name, shares }) => (
            <Row key={name} named={nameOf(name)} shares={shares} most={most} />
          ))}
        </tbody>
      </table>
      {rows.length > MOST && (
        <button type="button" class="action" aria-expanded={isWhole} onClick={() => showAll(!isWhole)}>
          {isWhole ? `Show the first ${MOST}` : `Show all ${figure(rows.length)}`}
        </button>
      )}
    </section>
  );
}

function Row({ named, shares, most }: { named: Named; shares: ShareRow["shares"]; most: number }) {
  const { place } = useSession();
  const { words, title, to, isHere = false, isCode = false } = named;
  const label = <bdi class={isCode ? style["code"] : undefined}>{cut(harmless(words), MOST_CHARS)}</bdi>;
  return (
    <tr aria-current={isHere ? "true" : undefined}>
      <th scope="row" title={title === undefined ? undefined : harmless(title)}>
        {to === undefined || to === null ? (
          label
        ) : (
          <a href={place.href(to)} onClick={place.onLink(to)}>
            {label}
          </a>
        )}
      </th>
      {shares.map((share, rule) => (
        // The rules of a table never change their order, so their index identifies them.
        <td key={rule}>{share === null ? "–" : <Cell share={share} most={most} />}</td>
      ))}
    </tr>
  );
}

function Cell({ share, most }: { share: Share; most: number }) {
  const width = (size: number): { width: string } => ({ width: `${most > 0 ? (100 * size) / most : 0}%` });
  return (
    <>
      <span class={style["bar"]} aria-hidden="true">
        <i class={style["up"]} style={width(share.up)} />
        <i class={style["down"]} style={width(share.down)} />
      </span>
      {effects(share).map((words) => (
        <span key={words}>{words}</span>
      ))}
      {share.takenOut > 0 && (
        <small title={`The rule masks or clips ${figure(share.takenOut)} of ${figure(share.tokens)} tokens`}>
          lost {percent(share.lost)}
        </small>
      )}
    </>
  );
}

/** What the step does, in words; why it does nothing. */
function effects({ up, down, tokens, unmoved, takenOut }: Share): string[] {
  const words = [up === 0 ? "" : `up ${percent(up)}`, down === 0 ? "" : `down ${percent(down)}`];
  if (up !== 0 || down !== 0) return words.filter((one) => one !== "");
  if (unmoved === tokens) return ["nothing: advantage 0"];
  return [takenOut === tokens ? "nothing: all masked or clipped" : "nothing"];
}
