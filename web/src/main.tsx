/** The start of the page. */

import "./styles/tokens.css";
import "./styles/base.css";
import { render } from "preact";
import { App } from "./app/App";
import { startFocus } from "./app/focus";
import { startKeys } from "./app/keys";
import { startTitle } from "./app/title";
import { startFind } from "./features/sample/find";
import { startFolds } from "./features/sample/folds";
import { begin } from "./state/begin";
import { startColumns } from "./state/columns";
import { startComplete } from "./state/complete";
import { startGroup } from "./state/group";
import { startList } from "./state/list";
import { startOverlays } from "./state/overlays";
import { startPersonal } from "./state/personal";
import { startPlace } from "./state/place";
import { startPrefetch } from "./state/prefetch";
import { startRender } from "./state/render";
import { startSample } from "./state/sample";
import { startScroll } from "./state/scroll";
import { startSearch } from "./state/search";
import { startSession } from "./state/session";
import { startSettings } from "./state/settings";
import { startSteps } from "./state/steps";
import { startUsualCharts } from "./state/usualCharts";
import { startView } from "./state/view";
import { startVisible } from "./state/visible";

async function start(root: Element): Promise<void> {
  startSettings();
  startRender();
  startPersonal();
  startPlace();
  startScroll();
  await startSession(begin);
  startVisible();
  startSteps();
  startOverlays();
  startList();
  startGroup();
  startColumns();
  startView();
  startUsualCharts();
  startSample();
  startFolds();
  startFind();
  startSearch();
  startComplete();
  startPrefetch();
  startKeys();
  startFocus();
  startTitle();
  render(<App />, root);
  await begin();
}

const root = document.querySelector("#app");
if (root !== null) void start(root);
