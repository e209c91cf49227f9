/** All the runs that the server shows, and the places it looked at and did not open. */

import type { RunItem } from "../../api/types.gen";
import { count, figure, size } from "../../lib/numbers";
import { ago } from "../../lib/time";
import { onLink, href } from "../../state/place";
import { changedS, notes, program, runs } from "../../state/runs";
import style from "./RunsPage.module.css";

export function RunsPage() {
  const known = runs.value ?? [];
  return (
    <main class={style["page"]}>
      <h1>{known.length === 0 ? "No run was recognised" : count(known.length, "run")}</h1>
      {known.length === 0 ? <Empty /> : known.map((item) => <Run key={item.id} item={item} />)}
      <Notes />
      <p class={style["program"]}>{program.value}</p>
    </main>
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
  return (
    <section class={style["run"]}>
      <h2>
        <a href={href(to)} onClick={onLink(to)}>
          {item.name}
        </a>
        {item.live && <i class={style["live"]} title="Its files are being written" />}
      </h2>
      <dl class={style["facts"]}>
        {item.splits.map((split) => (
          <div key={split.name}>
            <dt>{split.name}</dt>
            <dd>
              {count(split.steps, "step")} · {count(split.samples, "sample")}
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
