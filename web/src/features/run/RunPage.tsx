/** Everything in a run but its samples: configuration, checkpoints, code, files, problems. */

import { useSession } from "../../state/useSession";
import { useMemo, useState } from "preact/hooks";
import { getAbout } from "../../api";
import type { Checkpoint, RunFile, TrackerItem } from "../../api/types.gen";
import { shown } from "../../lib/data/json";
import { count, figure, size } from "../../lib/numbers/numbers";
import { Copy } from "../../ui/controls/Copy";
import { Alone, Failure, Loading } from "../../ui/layout/EmptyState";
import { Name } from "../../ui/text/Name";
import { Text } from "../../ui/text/Text";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Reports } from "../report";
import { Config } from "./Config";
import { Progress } from "./Progress";
import { Part } from "./Part";
import pageStyle from "../../ui/layout/page.module.css";
import style from "./RunPage.module.css";

const ROWS = 200;
/** With more checkpoints, the list is folded: readers often want what follows it. */
const FEW = 12;

export function RunPage() {
  const session = useSession();
  const item = session.run.now.value;
  const id = item?.id ?? "";
  const about = useLoaded(`${id}\n${item?.version}`, () => getAbout(id), id);
  const last = about.value;
  if (about.error !== null)
    return (
      <Alone heading="Run">
        <Failure error={about.error} what="The details of this run" again={about.again} />
      </Alone>
    );
  if (last === null)
    return (
      <Alone heading="Run">
        <Loading />
      </Alone>
    );
  return (
    <main class={`${pageStyle["page"]} ${style["page"]}`} aria-label="Run">
      <h1>
        <Text text={item?.name ?? ""} />
      </h1>
      <p class="quiet">
        <code>
          <Name text={last.path} />
        </code>{" "}
        <Copy label="Copy path" what="the path" text={() => last.path} />
        <br />
        Format {last.format}: <Text text={last.reason} />
      </p>
      {item !== null && item !== undefined && <Progress item={item} config={last.config} />}
      <p>
        <a href={session.place.href({ page: "problems" })} onClick={session.place.onLink({ page: "problems" })}>
          {item?.problems === 0 ? "No problems in its files" : `${count(item?.problems ?? 0, "problem")} in its files`}
        </a>
      </p>
      {last.superseded > 0 && (
        <p>
          {count(last.superseded, "sample")} left out: a later launch recorded{" "}
          {last.superseded === 1 ? "its step" : "their steps"} again.
        </p>
      )}
      <Config config={last.config} />
      <Checkpoints checkpoints={last.checkpoints} />
      {last.reports.length > 0 && (
        <Part
          title="Reports"
          note={count(
            last.reports.reduce((sum, { steps }) => sum + steps.length, 0),
            "report",
          )}
        >
          <Reports reports={last.reports} />
        </Part>
      )}
      {last.trackers.length > 0 && <Trackers trackers={last.trackers} />}
      <Diff diff={last.code_diff} />
      <Files files={last.files} unlisted={last.files_left} />
    </main>
  );
}

function Checkpoints({ checkpoints }: { checkpoints: readonly Checkpoint[] }) {
  const newest = checkpoints.at(-1);
  return (
    <Part
      title="Checkpoints"
      note={newest === undefined ? "none" : `${figure(checkpoints.length)}, the newest ${newest.name}`}
      isOpen={checkpoints.length <= FEW}
    >
      {checkpoints.length > 0 && (
        <div class={style["scroll"]}>
          <table>
            <thead>
              <tr>
                <th>name</th>
                <th>step</th>
                <th>where</th>
                <th>also there</th>
              </tr>
            </thead>
            <tbody>
              {checkpoints.map(({ name, step, paths, extra }, i) => (
                <tr key={`${i} ${name}`}>
                  <td>
                    <Text text={name} />
                  </td>
                  <td>{step === null ? "" : figure(step)}</td>
                  <td>
                    {Object.entries(paths).map(([kind, path]) => (
                      <span key={kind} class={style["where"]}>
                        <small>
                          <Text text={kind} />
                        </small>{" "}
                        <Text text={path} />
                      </span>
                    ))}
                  </td>
                  <td>
                    <small>{Object.keys(extra ?? {}).length === 0 ? "" : shown(extra)}</small>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Part>
  );
}

function Trackers({ trackers }: { trackers: readonly TrackerItem[] }) {
  const metrics = trackers.reduce((sum, one) => sum + one.metric_count, 0);
  return (
    <Part title="Trackers" note={`${count(metrics, "metric")} more`}>
      <ul class={style["trackers"]}>
        {trackers.map(({ kind, path, name, metrics: names, metric_count: total, step_name: step, note }) => (
          <li key={`${path} ${name}`}>
            <b>{kind}</b>{" "}
            <code>
              <Name text={name === "" ? path : `${path}: ${name}`} />
            </code>
            <br />
            {note === "" ? (
              <span title={names.join("\n")}>
                {count(total, "metric")}, by{" "}
                {step === "" ? (
                  "the tracker's own step"
                ) : (
                  <>
                    <code>
                      <Text text={step} />
                    </code>
                    , the trainer's step
                  </>
                )}
              </span>
            ) : (
              <Text text={note} />
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Diff({ diff }: { diff: string }) {
  const lines = useMemo(() => (diff === "" ? 0 : diff.split("\n").length), [diff]);
  return (
    <Part title="Code" note={lines === 0 ? "no code.diff" : count(lines, "line")} isOpen={lines > 0 && lines < 400}>
      {lines > 0 && (
        <pre class={style["diff"]}>
          <Text text={diff} />
        </pre>
      )}
    </Part>
  );
}

function Files({ files, unlisted }: { files: readonly RunFile[]; unlisted: number }) {
  const [most, more] = useState(ROWS);
  const total = files.reduce((sum, file) => sum + file.size_bytes, 0);
  return (
    <Part
      title="Files"
      note={`${figure(files.length + unlisted)}, ${size(total)}${unlisted > 0 ? " and more" : ""}`}
      isOpen={files.length < 40}
    >
      <div class={style["scroll"]}>
        <table class={style["files"]}>
          <tbody>
            {files.slice(0, most).map(({ name, size_bytes, changed_s, what }) => (
              <tr key={name}>
                <td>
                  <code>
                    <Name text={name} />
                  </code>
                </td>
                <td class={style["number"]}>{size(size_bytes)}</td>
                <td>
                  <small>{new Date(changed_s * 1000).toLocaleString()}</small>
                </td>
                <td>
                  <small>{what}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {files.length > most && (
        <button
          type="button"
          class="button"
          onClick={() => more(most + ROWS)}
        >{`${figure(files.length - most)} more: show`}</button>
      )}
      {unlisted > 0 && <p class="quiet">{count(unlisted, "file")} more are not listed here.</p>}
    </Part>
  );
}
