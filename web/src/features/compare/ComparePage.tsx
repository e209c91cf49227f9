/** Several runs side by side: their configurations, their code, and what they answered to the same prompts. */

import { MAX_OVER } from "../../lib/address/address";
import { runs } from "../../state/runs";
import { useSession } from "../../state/useSession";
import { Alone, State } from "../../ui/layout/EmptyState";
import pageStyle from "../../ui/layout/page.module.css";
import { CodeSection } from "./code/CodeSection";
import { ComparedRuns } from "./ComparedRuns";
import { ConfigSection } from "./ConfigSection";
import { comparedRuns } from "./options";
import { PromptsSection } from "./prompts/PromptsSection";
import { RewardsSection } from "./RewardsSection";
import style from "./Compare.module.css";

export function ComparePage() {
  const session = useSession();
  const compared = comparedRuns(session);
  const others = (runs.value ?? []).length - 1;
  const missing = session.place.field.over.value.length + 1 - compared.length;
  if (others < 1)
    return (
      <Alone heading="Compare">
        <State title="Only one run is open">
          <p>
            This page puts several runs side by side. Start the viewer with a folder that holds more of them, or with
            several folders: <code>rolloupe view RUN_DIR OTHER_RUN_DIR</code>.
          </p>
        </State>
      </Alone>
    );
  const metrics = { page: "metrics" } as const;
  return (
    <main class={`${pageStyle["page"]} ${style["page"]}`} aria-label="Compare">
      <header class={pageStyle["controls"]}>
        <h1>Compare</h1>
        {compared.length > 1 && (
          <a href={session.place.href(metrics)} onClick={session.place.onLink(metrics)}>
            Their curves in Metrics
          </a>
        )}
      </header>
      <ComparedRuns compared={compared} />
      {missing > 0 && (
        <p class="quiet">
          {missing === 1 ? "One run" : `${missing} runs`} in the address {missing === 1 ? "is" : "are"} not open here.
        </p>
      )}
      {compared.length < 2 ? (
        <State title="Choose a run to compare with">
          <p>
            Add one or more runs above, up to {MAX_OVER}. The address keeps them, and Metrics draws their curves too.
          </p>
        </State>
      ) : (
        <>
          <RewardsSection compared={compared} />
          <ConfigSection compared={compared} />
          <CodeSection compared={compared} />
          <PromptsSection compared={compared} />
        </>
      )}
    </main>
  );
}
