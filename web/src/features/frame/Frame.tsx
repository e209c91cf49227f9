/** The frame of every page: bar, rail, and between them what the address names. */

import { field } from "../../state/place";
import { run, runs, runsError, loadRuns } from "../../state/runs";
import { isLocked } from "../../state/session";
import { Alone, Failure, State } from "../../ui/State";
import { BookmarksPage } from "../bookmarks/BookmarksPage";
import { EvalsPage } from "../evals/EvalsPage";
import { Login } from "../login/Login";
import { ProblemsPage } from "../problems/ProblemsPage";
import { ReportPage } from "../report/ReportPage";
import { Rollouts } from "../rollouts/Rollouts";
import { RunPage } from "../run/RunPage";
import { RunsPage } from "../runs/RunsPage";
import { SearchPage } from "../search/SearchPage";
import { SettingsPage } from "../settings/SettingsPage";
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
    </div>
  );
}

function Content() {
  const page = field.page.value;
  if (page === "settings") return <SettingsPage />;
  if (runsError.value !== null && runs.value === null) {
    return <Alone heading="Runs"><Failure error={runsError.value} what="The list of runs" again={() => void loadRuns()} /></Alone>;
  }
  if (runs.value === null) return <Alone heading="Runs"><State title="Opening the runs …" /></Alone>;
  if (page === "bookmarks") return <BookmarksPage key={field.run.value ?? ""} />;
  if (page === "search") return <SearchPage />;
  if (page === "runs") return <RunsPage />;
  if (run.value === null) return <NoSuchRun />;
  if (page === "evals") return <EvalsPage key={run.value.id} />;
  if (page === "problems") return <ProblemsPage key={run.value.id} />;
  if (page === "run") return <RunPage key={run.value.id} />;
  return page === "report" ? <ReportPage key={run.value.id} /> : <Rollouts />;
}

function NoSuchRun() {
  return (
    <Alone heading="No such run">
      <State title="This run is not here">
        <p>
          The server shows no run with the name <code>{field.run.value}</code>. It may have been started for other folders.
        </p>
        <p>
          <a href={document.baseURI}>See the runs that it shows</a>
        </p>
      </State>
    </Alone>
  );
}
