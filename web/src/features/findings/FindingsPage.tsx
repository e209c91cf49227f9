/** Findings: what the reward of the run pays for, with the samples that show it. */

import { useEffect } from "preact/hooks";
import { askFindings } from "../../api/routes.gen";
import type { RunFindings } from "../../api/types.gen";
import { count, figure, score } from "../../lib/numbers/numbers";
import { findingsAside, nameOfFinding } from "../../state/run/findings";
import { useSession } from "../../state/useSession";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Failure, State } from "../../ui/layout/EmptyState";
import { Card } from "./Card";
import { Controls, HowToRead, Looked } from "./Controls";
import { option } from "./options";
import { Gradient } from "./gradient/Gradient";
import { Parts } from "./parts/Parts";
import { Quality } from "./quality/Quality";
import { Aside } from "./SetAside";
import style from "./Findings.module.css";

/** The time between two requests while the index scans. */
const AGAIN_MS = 3000;

export function FindingsPage() {
  const session = useSession();
  const item = session.run.now.value;
  const query = {
    split: option(session, "of"),
    step_min: option(session, "from"),
    step_max: option(session, "to"),
    env: option(session, "env"),
    correct: option(session, "correct"),
  };
  const asked = Object.values(query).join("\n");
  const key = item === null ? null : [item.id, item.version, item.progress.phase, asked].join("\n");
  const loaded = useLoaded(key, () => askFindings(item?.id ?? "", query), item?.id);
  const { value: reply, again } = loaded;
  const pending = reply?.pending ?? 0;
  useEffect(() => {
    const timer = pending > 0 ? setTimeout(again, AGAIN_MS) : undefined;
    return () => clearTimeout(timer);
    // The next answer may have the same number of pending samples.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [reply]);
  useEffect(() => {
    if (reply !== null && asked.trim() === "") session.findings.found.value = reply;
  }, [session, reply, asked]);
  if (item === null) return null;
  return (
    <main class={style["page"]} aria-label="Findings">
      <Controls reply={reply} />
      {loaded.error !== null && <Failure error={loaded.error} what="The findings" again={again} />}
      {loaded.error === null && reply === null && (
        <p class="quiet" role="status">
          Looking for what the reward pays for …
        </p>
      )}
      {loaded.error === null && reply !== null && <Content reply={reply} />}
      {(reply !== null || loaded.error !== null) && (
        <>
          <HowToRead meanings={reply?.meanings ?? {}} />
          <Parts run={item.id} version={item.version} />
          <Gradient run={item.id} version={item.version} />
          <Quality run={item.id} version={item.version} />
        </>
      )}
    </main>
  );
}

function Content({ reply }: { reply: RunFindings }) {
  const aside = findingsAside(reply.run);
  const shown = reply.findings.filter((one) => !aside.has(nameOfFinding(one)));
  return (
    <>
      {reply.pending > 0 && <Scan reply={reply} />}
      {reply.findings.length === 0 && <Nothing reply={reply} />}
      {shown.some(({ phrase }) => phrase.includes("#")) && <p class="quiet"># stands for any number.</p>}
      {shown.map((one) => (
        <Card key={nameOfFinding(one)} of={one} reply={reply} />
      ))}
      <Aside run={reply.run} all={reply.findings} />
      <Looked reply={reply} />
    </>
  );
}

/** The progress of the index. */
function Scan({ reply: { samples, pending } }: { reply: RunFindings }) {
  const done = samples - pending;
  return (
    <div class={style["scan"]}>
      <p class="quiet" role="status">
        The index is still scanning: {figure(done)} of {count(samples, "sample")}. The findings so far are below.
      </p>
      <progress aria-label="Scanned" value={done} max={samples} />
    </div>
  );
}

function Nothing({ reply: { smallest, groups, note, pending } }: { reply: RunFindings }) {
  if (pending > 0) return null;
  if (smallest === null || groups === 0)
    return (
      <State title="Nothing to compare">
        <p>{note.replace(/^Nothing to compare: (.)/, (_, first: string) => first.toUpperCase())}</p>
      </State>
    );
  return (
    <State title="Nothing above threshold">
      <p>
        This run could reveal a phrase in a tenth of its samples only if each use earned at least {score(smallest)}{" "}
        reward.
      </p>
    </State>
  );
}
