/** The header of a group: its name, the ways to view it, the sample to compare with, and its figures. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import type { SampleItem } from "../../api/types.gen";
import { count, figure, finite, score } from "../../lib/numbers/numbers";
import { inkOf } from "../../lib/colour/scales";
import { copyLink } from "../../ui/controls/link";
import { Segments } from "../../ui/controls/Segments";
import { VIEWS } from "../sample";
import { nameOf } from "./sampleNames";
import style from "./GroupHeader.module.css";

const WAYS = [
  { value: "columns", label: "Columns", title: "Side by side" },
  { value: "diff", label: "Difference", title: "Two of them, word by word (d)" },
  { value: "table", label: "Table", title: "All of them, with their figures" },
] as const;

export function GroupHeader() {
  const session = useSession();
  const view = session.place.field.view.value;
  const isTable = session.place.field.isTable.value;
  const isDiff = session.place.field.isDiff.value;
  const items = session.group.membersHere.value;
  const way = isTable ? "table" : isDiff ? "diff" : "columns";
  return (
    <header class={style["header"]}>
      <div class={style["first"]}>
        <h1>Group{items.length > 0 && ` of ${figure(session.group.members.value?.total ?? items.length)}`}</h1>
        <span class={style["id"]}>{session.group.groupId.value}</span>
        <span class={style["tools"]}>
          <Segments
            label="Group as"
            options={WAYS}
            value={way}
            choose={(next) => session.place.go({ isTable: next === "table", isDiff: next === "diff" })}
          />
          <button
            type="button"
            class="action"
            aria-label="Copy link to this group"
            onClick={() => void copyLink(session)}
          >
            Copy link
          </button>
          <Segments label="View" options={VIEWS} value={view} choose={(next) => session.place.go({ view: next })} />
        </span>
      </div>
      <Figures items={items} total={session.group.members.value?.total ?? 0} />
      {!isTable && <Against items={items} />}
    </header>
  );
}

/**
 * Figures of the loaded part of the group: reward with deviation and range, lengths, statuses. As in the list, means
 * cover the trained samples, or the discarded ones if the whole group was discarded.
 */
function Figures({ items, total }: { items: readonly SampleItem[]; total: number }) {
  const session = useSession();
  const trained = items.filter(({ discarded }) => discarded === "");
  const counted = trained.length > 0 ? trained : items;
  const rewards = counted.flatMap(({ reward }) => finite(reward) ?? []);
  const tokens = counted.flatMap((item) => finite(item.response_tokens) ?? []);
  const chars = counted.map((item) => item.response_chars);
  const mean = meanOf(rewards);
  const status = new Map<string, number>();
  for (const item of items) status.set(item.status, (status.get(item.status) ?? 0) + 1);
  const discardedItems = items.filter(({ discarded }) => discarded !== "");
  const reasons = `not trained on: ${[...new Set(discardedItems.map(({ discarded }) => discarded))].join(", ")}`;
  const isBeside = mean !== null && counted === trained && discardedItems.length > 0;
  return (
    <dl class={style["figures"]}>
      {items.length > 0 && items.length < total && (
        <div title="The figures cover these samples; the list has all">
          <dt>Of the first</dt>
          <dd>{figure(items.length)}</dd>
        </div>
      )}
      {mean !== null && (
        <div title={`Mean of ${count(rewards.length, "finite reward")}${isBeside ? " of trained samples" : ""}`}>
          <dt>Reward</dt>
          <dd style={{ color: inkOf(session.columns.scale("reward"), mean) }}>{score(mean)}</dd>
          <dd class={style["more"]}>
            ±{score(deviation(rewards, mean))} · {score(Math.min(...rewards))} to {score(Math.max(...rewards))}
          </dd>
          {isBeside && (
            <dd class={style["warn"]} title={reasons}>
              (+{figure(discardedItems.length)} discarded)
            </dd>
          )}
        </div>
      )}
      <Length name="Response tokens" values={tokens} />
      {tokens.length === 0 && <Length name="Characters" values={chars} />}
      {[...status]
        .filter(([name]) => name !== "unknown")
        .map(([name, many]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={name === "completed" ? undefined : style["warn"]}>{figure(many)}</dd>
          </div>
        ))}
      {discardedItems.length > 0 && !isBeside && (
        <div title={reasons}>
          <dt>discarded</dt>
          <dd class={style["warn"]}>{figure(discardedItems.length)}</dd>
        </div>
      )}
    </dl>
  );
}

function Length({ name, values }: { name: string; values: readonly number[] }) {
  const mean = meanOf(values);
  if (mean === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{figure(Math.round(mean))}</dd>
      {values.length > 1 && (
        <dd class={style["more"]}>
          {figure(Math.min(...values))} to {figure(Math.max(...values))}
        </dd>
      )}
    </div>
  );
}

/** The sample to compare the others with. */
function Against({ items }: { items: readonly SampleItem[] }) {
  const session = useSession();
  const reply = session.group.isShown.value ? session.group.answers.value : null;
  const isDiff = session.place.field.isDiff.value;
  const only = session.place.field.only.value;
  const sample = session.place.field.sample.value;
  if (reply === null) return null;
  const isAway = !items.some(({ id }) => id === reply.against);
  if (items.length < 2 && !isAway) return null;
  const tokens = { view: "tokens", tokensAs: "text", beside: reply.against } as const;
  const best = items.findIndex(({ id }) => id === reply.best);
  const named = (item: SampleItem, i: number): string =>
    `${nameOf(items, item.id)} · reward ${score(item.reward, "none")}${i === best ? " · the best" : ""}`;
  return (
    <p class={style["against"]}>
      <label>
        {isDiff ? "Differences between" : "Compared with"}{" "}
        <select
          class="field"
          value={reply.against}
          onChange={({ currentTarget: { value } }) =>
            session.place.go({ against: value === reply.best && value !== sample ? null : value })
          }
        >
          {isAway && <option value={reply.against}>{awayName(session, items, reply.against)}</option>}
          {items.map((item, i) => (
            <option key={item.id} value={item.id}>
              {named(item, i)}
            </option>
          ))}
        </select>
      </label>
      {isDiff && (
        <label>
          and{" "}
          <select
            class="field"
            value={sample ?? ""}
            onChange={(event) => session.place.go({ sample: event.currentTarget.value })}
          >
            {items.map((item, i) => (
              <option key={item.id} value={item.id}>
                {named(item, i)}
              </option>
            ))}
          </select>
        </label>
      )}
      {isDiff && sample !== reply.against && (
        <a href={session.place.href(tokens)} onClick={session.place.onLink(tokens)} title="Token by token">
          Their tokens
        </a>
      )}
      {!isDiff && only.length > 0 && (
        <button type="button" class="action strong" onClick={() => session.place.go({ only: [] })}>
          {figure(only.length)} chosen: show all {figure(session.group.members.value?.total ?? 0)}
        </button>
      )}
    </p>
  );
}

/** The name of an answer of another step. */
function awayName(session: Session, items: readonly SampleItem[], id: string): string {
  const reward = session.group.itemOf(id)?.reward;
  return `${nameOf(items, id)}${reward === undefined ? "" : ` · reward ${score(reward, "none")}`}`;
}

function meanOf(values: readonly number[]): number | null {
  // Divide before adding: the sum of numbers near the largest would be infinite.
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value / values.length, 0);
}

function deviation(values: readonly number[], mean: number): number {
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
