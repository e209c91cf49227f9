/** The tokens of two samples of a group beside each other, from the first one that differs. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { SampleReply } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { count, signed, toNumber } from "../../../lib/numbers/numbers";
import { nameOfSample } from "../../../lib/sample/name";
import { harmless } from "../../../lib/text/invisible";
import { inkOf } from "../../../lib/colour/scales";
import { behind, partingWords, sharedTokens } from "../../../lib/tokens/sample/pair";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { createSession, type Session } from "../../../state/session";
import { SessionContext, useSession } from "../../../state/useSession";
import { Missing } from "../../../ui/layout/EmptyState";
import { Score } from "../../../ui/text/Score";
import { FlowView } from "../flow/FlowView";
import style from "./Pair.module.css";

export function PairView({ tokens, beside }: { tokens: TokenSample; beside: string }) {
  const session = useSession();
  const other = useOther(session, beside);
  const others = other?.tokens.now.value ?? null;
  const error = other?.sample.error.value ?? other?.tokens.error.value ?? null;
  const shared = useMemo(() => (others === null ? null : sharedTokens(tokens, others)), [tokens, others]);
  const [here, there] = [useStretches(tokens, shared), useStretches(others, shared)];
  return (
    <>
      <p class={style["words"]} role="status">
        {others !== null && partingWords(shared, tokens, others)}
        {others === null && error === null && "Loading the other sample …"}
      </p>
      {error !== null && <Missing error={error} again={() => void again(other)} />}
      <div class={style["pair"]}>
        <section class={style["side"]} aria-label="This sample">
          <Head reply={session.sample.now.value} tokens={tokens} />
          <FlowView tokens={tokens} stretches={here} label="Tokens of this sample" />
        </section>
        {other !== null && others !== null && (
          <section class={style["side"]} aria-label="The other sample">
            <Head reply={other.sample.now.value} tokens={others} isOther />
            <SessionContext.Provider value={other}>
              <FlowView tokens={others} stretches={there} label="Tokens of the other sample" lead={session} />
            </SessionContext.Provider>
          </section>
        )}
      </div>
    </>
  );
}

/** A session for the other sample, as long as it is shown. */
function useOther({ place }: Session, beside: string): Session | null {
  const [other, show] = useState<Session | null>(null);
  const run = place.field.run.value;
  useEffect(() => {
    const made = createSession({ ...START, page: "rollouts", run, sample: beside, view: "tokens" });
    made.sample.start();
    made.tokens.start();
    made.tokenLook.start();
    made.tokenAlternatives.start();
    show(made);
    return () => made.end();
  }, [run, beside]);
  return other?.place.field.sample.value === beside ? other : null;
}

async function again(other: Session | null): Promise<void> {
  await other?.sample.refresh();
  other?.tokens.again();
}

function useStretches(tokens: TokenSample | null, shared: number | null) {
  return useMemo(
    () =>
      tokens === null || shared === null ? {} : { segments: behind(shared, tokens), marked: tokens.first + shared },
    [tokens, shared],
  );
}

interface HeadProps {
  reply: SampleReply | null;
  tokens: TokenSample;
  isOther?: boolean;
}

function Head({ reply, tokens, isOther = false }: HeadProps) {
  const { place, columns } = useSession();
  if (reply === null) return null;
  const name = harmless(nameOfSample(reply.id));
  const to = { sample: reply.id };
  return (
    <header class={style["head"]}>
      {isOther ? (
        <a href={place.href(to)} onClick={place.onLink(to)} title={harmless(`${reply.id}: go there`)}>
          {name}
        </a>
      ) : (
        <b>{name}</b>
      )}
      <span>{isOther ? "beside" : "this sample"}</span>
      <Score value={reply.reward} />
      {reply.advantage !== null && (
        <span>
          Advantage{" "}
          <b style={{ color: inkOf(columns.scale("advantage"), toNumber(reply.advantage)) }}>
            {signed(reply.advantage)}
          </b>
        </span>
      )}
      <span>{count(tokens.count - tokens.first, "token")}</span>
    </header>
  );
}
