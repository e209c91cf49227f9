/** Unreadable records of the run: the file, the bytes, the reason, and the beginning of the record. */

import { useSession } from "../../state/useSession";
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, getProblems, problemRaw } from "../../api";
import type { ProblemItem, ProblemsReply } from "../../api/types.gen";
import { count, figure, size } from "../../lib/numbers/numbers";
import { asApiError } from "../../state/browser/login";
import { Alone, Failure, Loading, State } from "../../ui/layout/EmptyState";
import { Download } from "../../ui/controls/Download";
import { Text } from "../../ui/text/Text";
import pageStyle from "../../ui/layout/page.module.css";
import style from "./ProblemsPage.module.css";

const PAGE = 100;

export function ProblemsPage() {
  const session = useSession();
  const id = session.run.now.value?.id ?? "";
  const problemCount = session.run.now.value?.problems ?? 0;
  const [reply, setReply] = useState<ProblemsReply | null>(null);
  const [error, setError] = useState<ApiError | null>(null);

  const [isEnd, setEnd] = useState(false);
  const round = useRef(0);

  const load = async (before: readonly ProblemItem[]): Promise<void> => {
    round.current += 1;
    const thisRound = round.current;
    try {
      const page = await getProblems(id, before.length, PAGE);
      if (thisRound !== round.current) return;
      setReply({ ...page, problems: [...before, ...page.problems] });
      setEnd(page.problems.length < PAGE);
      setError(null);
    } catch (problem) {
      if (thisRound === round.current) setError(asApiError(problem));
    }
  };
  // The first page shows new problems while it is open. A reader on a later page stays there, and the count is above.
  useEffect(() => {
    if (reply === null || reply.problems.length <= PAGE) void load([]);
    else setEnd(false);
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, problemCount]);

  if (error !== null)
    return (
      <Alone heading="Unreadable records">
        <Failure error={error} what="The list of unreadable records" again={() => void load([])} />
      </Alone>
    );
  if (reply === null)
    return (
      <Alone heading="Unreadable records">
        <Loading />
      </Alone>
    );
  if (reply.total === 0) {
    return (
      <Alone heading="Unreadable records">
        <State title="No unreadable records">
          <p>
            Every record of this run is readable
            {session.run.now.value?.progress.phase === "ready" ? "." : " so far. Indexing is not finished."}
          </p>
        </State>
      </Alone>
    );
  }
  const { problems } = reply;
  const total = Math.max(reply.total, problemCount);
  return (
    <main class={`${pageStyle["page"]} ${style["page"]}`}>
      <h1>{count(total, "record")} could not be read as expected</h1>
      <p class={style["lead"]}>All other records are shown. The files were not changed.</p>
      <ol>
        {problems.map((problem, i) => (
          <li key={`${i} ${problem.file} ${problem.start}`} class={style["problem"]}>
            <Problem problem={problem} />
          </li>
        ))}
      </ol>
      {problems.length < total && isEnd && (
        <p class="quiet">
          {count(total - problems.length, "more record")} {total - problems.length === 1 ? "is" : "are"} counted, and
          not listed.
        </p>
      )}
      {problems.length < total && !isEnd && (
        <p class={style["more"]}>
          <button type="button" class="button" onClick={() => void load(problems)}>
            Show more
          </button>
          {figure(problems.length)} of {figure(total)}
        </p>
      )}
    </main>
  );
}

function Problem({ problem: { file, start, stop, reason, excerpt } }: { problem: ProblemItem }) {
  const session = useSession();
  const id = session.run.now.value?.id ?? "";
  return (
    <>
      <p class={style["place"]}>
        <Text text={file} />
        {start !== null &&
          ` · bytes ${figure(start)}${stop === null ? " on" : `–${figure(stop)} (${size(stop - start)})`}`}
        {excerpt !== "" && start !== null && stop !== null && (
          <>
            {" "}
            · <Download href={problemRaw(id, file, start, stop)}>Download</Download>
          </>
        )}
      </p>
      <p>
        <Text text={reason} />
      </p>
      {excerpt !== "" && (
        <pre class={style["excerpt"]}>
          <Text text={excerpt} />
        </pre>
      )}
    </>
  );
}
