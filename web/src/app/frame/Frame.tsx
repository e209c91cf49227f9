/** The frame of every page: bar, rail, and between them the page of the address. */

import { hasStep } from "../../lib/address/address";
import { nameOfSplit } from "../../lib/address/splits";
import { figure } from "../../lib/numbers/numbers";
import { useSession } from "../../state/useSession";
import { Text } from "../../ui/text/Text";
import { isSearching, runs, runsError, loadRuns } from "../../state/runs";
import { isLocked } from "../../state/browser/login";
import { Alone, Failure, State } from "../../ui/layout/EmptyState";
import { BookmarksPage } from "../../features/bookmarks";
import { ComparePage } from "../../features/compare";
import { EvalsPage } from "../../features/evals";
import { FindingsPage } from "../../features/findings";
import { Login } from "../../features/login";
import { MetricsPage } from "../../features/metrics";
import { ProblemsPage } from "../../features/problems";
import { ReportPage } from "../../features/report";
import { Rollouts } from "../../features/rollouts";
import { RunPage } from "../../features/run";
import { RunsPage } from "../../features/runs";
import { RunTokensPage } from "../../features/runTokens";
import { SearchPage } from "../../features/search";
import { SettingsPage } from "../../features/settings";
import { Notice } from "../../ui/overlay/Notice";
import { TopBar } from "./TopBar";
import { Rail } from "./Rail";
import style from "./Frame.module.css";

export function Frame() {
  if (isLocked.value) return <Login />;
  return (
    <div class={style["frame"]}>
      <TopBar />
      <Rail />
      <div class={style["page"]}>
        <Content />
      </div>
      <UnreadStep />
    </div>
  );
}

/** Shown if the step in the address is not a number: the page never replaces it silently. */
function UnreadStep() {
  const { place, run } = useSession();
  const asked = place.unreadStep.value;
  if (asked === "" || run.now.value === null) return null;
  const step = place.field.step.value;
  return (
    <Notice>
      <p>
        <b>
          “<Text text={asked.slice(0, 60)} />” is not a step:
        </b>{" "}
        steps are whole numbers.{step !== null && ` This is step ${figure(step)}; choose another above.`}
      </p>
      <button type="button" class="action" onClick={() => (place.unreadStep.value = "")}>
        Close
      </button>
    </Notice>
  );
}

function Content() {
  const session = useSession();
  const page = session.place.field.page.value;
  if (page === "settings") return <SettingsPage />;
  if (runsError.value !== null && runs.value === null) {
    return (
      <Alone heading="Runs">
        <Failure error={runsError.value} what="The list of runs" again={() => void loadRuns()} />
      </Alone>
    );
  }
  const isRunWanted = page !== "bookmarks" && page !== "search" && page !== "runs";
  if (runs.value === null || (isRunWanted && isSearching.value && session.run.now.value === null))
    return (
      <Alone heading="Runs">
        <State title="Opening the runs …" />
      </Alone>
    );
  if (page === "bookmarks") return <BookmarksPage key={session.place.field.run.value ?? ""} />;
  if (page === "search") return <SearchPage />;
  if (page === "runs") return <RunsPage />;
  if (session.run.now.value === null) return <NoSuchRun />;
  if (session.run.isSplitMissing.value && hasStep(page) && page !== "report") return <NoSuchSplit />;
  if (page === "metrics") return <MetricsPage key={session.run.now.value.id} />;
  if (page === "findings") return <FindingsPage key={session.run.now.value.id} />;
  if (page === "evals") return <EvalsPage key={session.run.now.value.id} />;
  if (page === "tokens") return <RunTokensPage key={session.run.now.value.id} />;
  if (page === "compare") return <ComparePage key={session.run.now.value.id} />;
  if (page === "problems") return <ProblemsPage key={session.run.now.value.id} />;
  if (page === "run") return <RunPage key={session.run.now.value.id} />;
  return page === "report" ? <ReportPage key={session.run.now.value.id} /> : <Rollouts />;
}

/** The page never shows another split, or a step of one, in its place. */
function NoSuchSplit() {
  const session = useSession();
  const { split, step } = session.place.now.value;
  return (
    <Alone heading="No such split">
      <State title="This run has no such split">
        <p>
          It has no samples of <Text text={split ?? ""} />
          {step !== null && " at any step"}. Its splits:
        </p>
        <ul>
          {session.run.splitChoices.value.map(({ name, first_step: first, last_step: last }) => (
            <li key={name}>
              <a href={session.place.href({ split: name })} onClick={session.place.onLink({ split: name })}>
                <Text text={nameOfSplit(name)} />
              </a>
              {first === null ? "" : `: steps ${figure(first)} to ${figure(last)}`}
            </li>
          ))}
        </ul>
      </State>
    </Alone>
  );
}

function NoSuchRun() {
  const session = useSession();
  return (
    <Alone heading="No such run">
      <State title="This run is not available">
        <p>
          The server has no run named <code>{session.place.field.run.value}</code>. It may have been started with
          different folders.
        </p>
        <p>
          <a href={document.baseURI}>Show its runs</a>
        </p>
      </State>
    </Alone>
  );
}
