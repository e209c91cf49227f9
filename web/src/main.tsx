/** The start of the page. */

import "./styles/tokens.css";
import "./styles/base.css";
import { render } from "preact";
import { App } from "./app/App";
import { startKeys } from "./app/keys";
import { startTitle } from "./app/title";
import { startFolds } from "./features/sample/folds";
import { begin } from "./state/begin";
import { startColumns } from "./state/columns";
import { startComplete } from "./state/complete";
import { startList } from "./state/list";
import { startPlace } from "./state/place";
import { startPrefetch } from "./state/prefetch";
import { startSample } from "./state/sample";
import { startSession } from "./state/session";
import { startSettings } from "./state/settings";
import { startSteps } from "./state/steps";
import { startView } from "./state/view";
import { startVisible } from "./state/visible";

async function start(root: Element): Promise<void> {
  startSettings();
  startPlace();
  await startSession(begin);
  startVisible();
  startSteps();
  startList();
  startColumns();
  startView();
  startSample();
  startFolds();
  startComplete();
  startPrefetch();
  startKeys();
  startTitle();
  render(<App />, root);
  await begin();
}

const root = document.querySelector("#app");
if (root !== null) void start(root);
