/** The start of a report: a page that holds its samples and sends no request. */

import "../styles/tokens.css";
import "../styles/base.css";
import { render } from "preact";
import { START } from "../lib/address/address";
import { createSession } from "../state/session";
import { chooseRender } from "../state/browser/textOptions";
import { SessionContext } from "../state/useSession";
import { reportData, startAnswers } from "./answers";
import { Report } from "./Report";

async function start(): Promise<void> {
  const data = await reportData();
  // Texts are rendered in a worker, which a file cannot start.
  chooseRender({ markdown: false, latex: false, code: false });
  startAnswers(data);
  const first = data.samples[0]?.reply;
  const session = createSession({ ...START, page: "rollouts", run: first?.run ?? null });
  session.sample.start();
  session.tokens.start();
  session.tokenLook.start();
  session.tokenUpdate.start();
  session.tokenAlternatives.start();
  session.folds.start();
  const root = document.querySelector("#app");
  if (root !== null)
    render(
      <SessionContext.Provider value={session}>
        <Report data={data} />
      </SessionContext.Provider>,
      root,
    );
}

void start();
