/** A finding: its class, a sentence, its numbers and curves, and the samples that show it. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Finding, RunFindings } from "../../api/types.gen";
import { figure, signed } from "../../lib/numbers/numbers";
import { percent } from "../../lib/sample/discardReasons";
import { harmless } from "../../lib/text/invisible";
import { nameOfFinding } from "../../state/run/findings";
import { useSession } from "../../state/useSession";
import { Chip, isUrgent } from "../verdicts";
import { copyLink } from "../../ui/controls/link";
import { Text } from "../../ui/text/Text";
import { chartsOf, option, samplesOf } from "./options";
import { Reading } from "./Reading";
import { NotAHack } from "./SetAside";
import { isInAll, Trend } from "./Trend";
import style from "./Findings.module.css";

export function Card({ of, reply }: { of: Finding; reply: RunFindings }) {
  const session = useSession();
  const isHere = option(session, "finding") === nameOfFinding(of);
  const [isOpen, open] = useState(isHere || isUrgent(of.class));
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isHere) card.current?.scrollIntoView({ block: "start" });
  }, [isHere]);
  return (
    <article class={style["card"]} data-class={of.class} data-here={isHere || undefined} ref={card}>
      <span class={style["kind"]}>
        <Chip kind={of.class} meaning={reply.meanings[of.class]} />
      </span>
      <h2>
        <Text text={of.text} />
      </h2>
      <Numbers of={of} correct={reply.correct} />
      <Actions of={of} reply={reply} isOpen={isOpen} open={open} />
      {isOpen && (
        <div class={style["body"]}>
          <Trend of={of} />
          <Reading of={of} reply={reply} />
        </div>
      )}
    </article>
  );
}

function Numbers({ of, correct }: { of: Finding; correct: string }) {
  const all: [string, string][] = [
    ["effect", signed(of.effect)],
    ...(of.correctness === null ? [] : [[`on ${harmless(correct)}`, signed(of.correctness)] as [string, string]]),
    ["z", figure(of.z)],
    ...(isInAll(of) ? [] : [["share", `${percent(of.first, 1)} → ${percent(of.last, 1)}`] as [string, string]]),
  ];
  return (
    <dl class={style["numbers"]}>
      {all.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ActionsProps {
  of: Finding;
  reply: RunFindings;
  isOpen: boolean;
  open: (isOpen: boolean) => void;
}

function Actions({ of, reply, isOpen, open }: ActionsProps) {
  const session = useSession();
  const to = samplesOf(of, reply);
  const title = harmless(of.title);
  const share = { ask: { ...session.place.now.value.ask, finding: nameOfFinding(of) } };
  const curves = chartsOf(of);
  const about = <span class="hidden">: {title}</span>;
  return (
    <p class={style["actions"]}>
      <button type="button" class="action strong" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {isOpen ? "Fold" : "Read samples"}
        {about}
      </button>
      <a class="action" href={session.place.href(to)} onClick={session.place.onLink(to)}>
        {of.where === "" ? "Search for it" : "List the samples"}
        {about}
      </a>
      {of.behaviour !== "" && (
        <a class="action" href={session.place.href(curves)} onClick={session.place.onLink(curves)}>
          Chart{about}
        </a>
      )}
      <button
        type="button"
        class="action"
        onClick={() => void copyLink(session, new URL(session.place.href(share), document.baseURI).href)}
      >
        Copy link{about}
      </button>
      {of.class !== "earned" && of.class !== "drift" && <NotAHack run={reply.run} of={of} />}
    </p>
  );
}
