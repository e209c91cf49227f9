/** The start of the page. */

import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/base.css";
import { render } from "preact";
import { App } from "./app/App";
import { startFocus } from "./app/focus";
import { startKeys } from "./app/keys";
import { startTitle } from "./app/title";
import { createSession } from "./state/session";
import { start } from "./state/start";
import { SessionContext } from "./state/useSession";
import { placeInAddress } from "./state/place/place";
import { startComplete } from "./state/place/placeDefaults";
import { startPersonal } from "./state/browser/sharedSettings";
import { startPrefetch } from "./state/sample/prefetch";
import { startRender } from "./state/browser/textOptions";
import { startScroll } from "./state/place/scrollPositions";
import { startLogin } from "./state/browser/login";
import { startSettings } from "./state/browser/settings";
import { startLastSamples } from "./state/browser/lastSamples";
import { startListView } from "./state/browser/listView";
import { startTokenView } from "./state/browser/tokenView";
import { startVisible } from "./state/browser/visibility";

/** The page is drawn with its font, unless that takes longer. */
const FONT_MS = 300;

async function fontLoaded(): Promise<void> {
  const late = new Promise((resolve) => setTimeout(resolve, FONT_MS));
  await Promise.race([document.fonts.load("13px Inter"), late]).catch(() => undefined);
}

async function draw(root: Element): Promise<void> {
  const session = createSession(placeInAddress());
  startSettings();
  startRender();
  startTokenView();
  startPersonal();
  session.place.start();
  startScroll(session);
  await Promise.all([startLogin(start), fontLoaded()]);
  startVisible();
  session.steps.start();
  session.overlays.start();
  session.list.start();
  session.browse.start();
  session.group.start();
  session.columns.start();
  startListView();
  startLastSamples();
  session.view.start();
  session.layout.start();
  session.charts.start();
  session.brief.start();
  session.prompt.start();
  session.sample.start();
  session.tokens.start();
  session.tokenLook.start();
  session.tokenUpdate.start();
  session.tokenShares.start();
  session.tokenAlternatives.start();
  session.tokenWorst.start();
  session.folds.start();
  session.find.start();
  session.search.start();
  session.judging.start();
  session.live.start();
  startComplete(session);
  startPrefetch(session);
  startKeys(session);
  startFocus();
  startTitle(session);
  render(
    <SessionContext.Provider value={session}>
      <App />
    </SessionContext.Provider>,
    root,
  );
  await start();
}

const root = document.querySelector("#app");
if (root !== null) void draw(root);
