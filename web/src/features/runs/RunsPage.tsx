/** All the runs that the server shows, and the places it looked at and did not open. */

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { RunItem } from "../../api/types.gen";
import { count, figure, size } from "../../lib/numbers";
import { ago } from "../../lib/time";
import { activityOf } from "../../state/activity";
import { colourOf, nameOf, runMark } from "../../state/marks";
import { onLink, href } from "../../state/place";
import { changedS, notes, program, runs } from "../../state/runs";
import { Icon } from "../../ui/Icon";
import { RunEditor } from "./RunEditor";
import { type Order, ordered, ORDERS, sought } from "./sought";
import style from "./RunsPage.module.css";

/** Fewer runs are seen at a glance. */
const MANY = 6;

/** Kept while the page is open: who comes back finds the list as it was. */
const wanted = signal("");
const order = signal<Order>("found");

export function RunsPage() {
  const [showsHidden, showHidden] = useState(false);
  const all = runs.value ?? [];
  const known = ordered(sought(all, wanted.value), order.value).filter(({ id }) => showsHidden || wanted.value.trim() !== "" || !runMark(id).hidden);
  return (
    <main class={style["page"]}>
      <h1>{all.length === 0 ? "No run was recognised" : wanted.value.trim() === "" ? count(all.length, "run") : `${figure(known.length)} of ${count(all.length, "run")}`}</h1>
      {all.length >= MANY && <Tools />}
      {all.length === 0 ? <Empty /> : known.map((item) => <Run key={item.id} item={item} />)}
      {all.length > 0 && known.length === 0 && wanted.value.trim() !== "" && <p role="status">No run is called so.</p>}
      {all.some(({ id }) => runMark(id).hidden) && (
        <p>
          <button type="button" class="action" aria-pressed={showsHidden} onClick={() => showHidden(!showsHidden)}>
            {count(all.filter(({ id }) => runMark(id).hidden).length, "hidden run")}
          </button>
        </p>
      )}
      <Notes />
      <p class={style["program"]}>{program.value}</p>
    </main>
  );
}

function Tools() {
  return (
    <div class={style["tools"]}>
      <input class="field" type="search" aria-label="Find a run" placeholder="Find by name, format, path or note" autocomplete="off" spellcheck={false} value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
      <select class="field" aria-label="Order of the runs" value={order.value} onChange={(event) => (order.value = ORDERS.find(({ value }) => value === event.currentTarget.value)?.value ?? "found")}>
        {ORDERS.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}

function Empty() {
  return (
    <div class={style["empty"]}>
      <p>The server was started for folders in which it found no rollouts that it can read{notes.value.length > 0 ? ", for the reasons below" : ""}.</p>
      <p>
        Start it for a folder that a trainer wrote: <code>rolloupe view RUN_DIR</code>. <code>rolloupe doctor RUN_DIR</code> says what is in
        a folder, and why it is not recognised. <code>rolloupe demo</code> shows runs that come with Rolloupe.
      </p>
    </div>
  );
}

function Run({ item }: { item: RunItem }) {
  const to = { page: "rollouts", run: item.id } as const;
  const seconds = changedS(item);
  const [isEdited, edit] = useState(false);
  const { note } = runMark(item.id);
  const doing = activityOf(item);
  if (isEdited) return <section class={style["run"]}><RunEditor item={item} done={() => edit(false)} /></section>;
  return (
    <section class={style["run"]}>
      <h2>
        <i class={style["dot"]} style={{ background: `var(--run-${colourOf(item.id)})` }} />
        <a href={href(to)} onClick={onLink(to)}>
          {nameOf(item)}
        </a>
        {doing === "running" && <small class={style["live"]}>running</small>}
        {doing === "stalled" && <small class={style["stalled"]}>stalled</small>}
        <button type="button" class={`action ${style["edit"]}`} aria-label={`Name, colour and note of ${nameOf(item)}`} title="Name, colour, note" onClick={() => edit(true)}>
          <Icon sign="more" size={16} />
        </button>
      </h2>
      <dl class={style["facts"]}>
        {item.splits.map((split) => (
          <div key={split.name}>
            <dt>{split.name}</dt>
            <dd>
              {count(split.steps, "step")} · {count(split.samples, "sample")}
              {split.discarded !== null && split.discarded > 0 && <> · {figure(split.discarded)} discarded</>}
            </dd>
          </div>
        ))}
        {item.splits.length === 0 && <div><dt>No sample was read yet</dt></div>}
        {item.problems > 0 && (
          <div>
            <dt>Problems</dt>
            <dd>
              <a href={href({ page: "problems", run: item.id })} onClick={onLink({ page: "problems", run: item.id })}>
                {figure(item.problems)}
              </a>
            </dd>
          </div>
        )}
        {seconds !== null && <div><dt>Last written</dt><dd>{ago(seconds)}</dd></div>}
        {item.progress.phase !== "ready" && (
          <div>
            <dt>Indexing</dt>
            <dd>{size(item.progress.done_bytes)} of {size(item.progress.total_bytes)}</dd>
          </div>
        )}
      </dl>
      {note !== "" && <p class={style["note"]}>{note}</p>}
      <p class={style["path"]}>{item.path}</p>
      <p class={style["reason"]}>
        <b>{item.format}</b> {item.reason}
      </p>
    </section>
  );
}

function Notes() {
  if (notes.value.length === 0) return null;
  return (
    <section class={style["notes"]}>
      <h2>Looked at and not opened</h2>
      <dl>
        {notes.value.map((note) => (
          <div key={`${note.path} ${note.reason}`}>
            <dt>{note.path}</dt>
            <dd>{note.reason}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
