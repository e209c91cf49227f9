/**
 * Details of a run in the table: its splits, why it was recognised, its path, and the values that set its configuration
 * apart.
 */

import { useSession } from "../../../state/useSession";
import type { RunItem } from "../../../api/types.gen";
import { count, figure, size } from "../../../lib/numbers/numbers";
import { runMark, ofRun } from "../../../state/marks";
import { Copy } from "../../../ui/controls/Copy";
import { Text } from "../../../ui/text/Text";
import { SharedNotes } from "../../marks";
import style from "./RunDetails.module.css";

interface Props {
  item: RunItem;
  keys: readonly string[];
  values: ReadonlyMap<string, string> | undefined;
}

export function RunDetails({ item, keys, values }: Props) {
  const session = useSession();
  const { note } = runMark(item.id);
  const entries = keys.flatMap((key) => (values?.has(key) === true ? [[key, values.get(key) ?? ""] as const] : []));
  const problems = { page: "problems", run: item.id } as const;
  const about = { page: "run", run: item.id } as const;
  const { phase, done_bytes: done, total_bytes: total } = item.progress;
  return (
    <div class={style["details"]}>
      {note !== "" && (
        <p class={style["note"]}>
          <Text text={note} />
        </p>
      )}
      <SharedNotes subject={ofRun(item.id)} />
      <dl class={style["facts"]}>
        {item.splits.map((split) => {
          const to = { page: "rollouts", run: item.id, split: split.name } as const;
          return (
            <div key={split.name}>
              <dt>
                <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
                  <Text text={split.name} />
                </a>
              </dt>
              <dd>
                {count(split.steps, "step")} · {count(split.samples, "sample")}
                {split.discarded !== null && split.discarded > 0 && <> · {figure(split.discarded)} discarded</>}
              </dd>
            </div>
          );
        })}
        {item.splits.length === 0 && (
          <div>
            <dt>Samples</dt>
            <dd>none read yet</dd>
          </div>
        )}
        {phase !== "ready" && (
          <div>
            <dt>Indexing</dt>
            <dd>
              {size(done)} of {size(total)}
            </dd>
          </div>
        )}
        <div>
          <dt>Format</dt>
          <dd>
            {item.format}: <Text text={item.reason} />
          </dd>
        </div>
        <div>
          <dt>Path</dt>
          <dd>
            <code>
              <Text text={item.path} />
            </code>{" "}
            <Copy label="Copy path" what={`of ${item.name}`} text={() => item.path} />
          </dd>
        </div>
      </dl>
      {entries.length > 0 && (
        <>
          <p class="quiet">Configuration that differs between runs</p>
          <dl class={style["facts"]}>
            {entries.map(([key, value]) => (
              <div key={key}>
                <dt>
                  <code>
                    <Text text={key} />
                  </code>
                </dt>
                <dd>
                  <code>
                    <Text text={value} />
                  </code>
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <p class={style["links"]}>
        <a href={session.place.href(about)} onClick={session.place.onLink(about)}>
          Configuration, checkpoints, files
        </a>
        {item.problems > 0 && (
          <a href={session.place.href(problems)} onClick={session.place.onLink(problems)}>
            {count(item.problems, "problem")} in its files
          </a>
        )}
      </p>
    </div>
  );
}
