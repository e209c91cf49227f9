/** The tokens of a sample: each coloured by one of its values. */

import { isAlone } from "../../api";
import { missingOf } from "../../lib/tokens/sample/missing";
import type { TokenSample } from "../../lib/tokens/sample/tokenSample";
import { useSession } from "../../state/useSession";
import { Failure, Loading, Missing, State } from "../../ui/layout/EmptyState";
import { SLIM, useMatch } from "../../ui/hooks/useMatch";
import { asideTitle } from "./aside/title";
import { TokensAside } from "./aside/TokensAside";
import { Controls } from "./controls/Controls";
import { FlowView } from "./flow/FlowView";
import { PairView } from "./pair/PairView";
import { StripView } from "./strip/StripView";
import { TableView } from "./table/TableView";
import style from "./TokensPane.module.css";

export function TokensPane() {
  const { tokens: store, place } = useSession();
  const [form, beside] = [place.field.tokensAs.value, place.field.beside.value];
  const isSlim = useMatch(SLIM);
  const [tokens, error] = [store.now.value, store.error.value];
  if (tokens === null)
    return (
      <div class={style["pane"]}>
        {error === null ? <Loading /> : <Failure error={error} what="The tokens" again={store.again} />}
      </div>
    );
  if (tokens.count === 0)
    return (
      <div class={style["pane"]}>
        <State title="This sample has no tokens">
          <p>
            Its record has neither token ids nor token strings nor a number for each token. Trainers that write them,
            and how to record them yourself, are in the documentation of formats.
          </p>
        </State>
      </div>
    );
  return (
    <div class={style["pane"]} data-form={form}>
      {error !== null && <Missing error={error} again={store.again} />}
      <Controls tokens={tokens} />
      {isSlim && (
        <details class={style["more"]}>
          <summary>{form === "update" ? asideTitle(form) : "Worst tokens, rules and distribution"}</summary>
          <TokensAside isBelow />
        </details>
      )}
      <StripView tokens={tokens} />
      <MissingHere tokens={tokens} />
      {form === "table" && <TableView tokens={tokens} />}
      {form === "text" && beside !== null && <PairView tokens={tokens} beside={beside} />}
      {(form === "update" || (form === "text" && beside === null)) && <FlowView tokens={tokens} />}
    </div>
  );
}

/** An option of a command: a line does not end within it. */
const OPTION = /(--\w+)/;

/** What this view cannot show for this sample, and why. */
function MissingHere({ tokens }: { tokens: TokenSample }) {
  const words = missingOf(tokens, useSession().sample.now.value?.group_ids.length ?? 0, isAlone());
  return words.length === 0 ? null : (
    <p class={style["missing"]}>
      {words
        .join(" ")
        .split(OPTION)
        .map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
    </p>
  );
}
