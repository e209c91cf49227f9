/**
 * The band above a run: what is worth knowing about it, in at most three sentences, each with a link to its evidence.
 * Findings that a person has set aside are left out.
 */

import { useState } from "preact/hooks";
import type { Brief, BriefSentence } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { keyOfCurve } from "../../lib/charts/catalogue";
import { figure } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import { activityOf } from "../../state/run/activity";
import { findingsAside } from "../../state/run/findings";
import { useSession } from "../../state/useSession";
import { Text } from "../../ui/text/Text";
import style from "./Brief.module.css";

/** The kinds of sentences, in words. */
export const KINDS: Readonly<Record<BriefSentence["kind"], string>> = {
  reward: "Reward",
  held_out: "Held out",
  paid_for: "Paid for",
  answers: "Answers",
  data: "Data",
  curves: "Curves",
};

export function BriefBand() {
  const session = useSession();
  const [isOpen, open] = useState(false);
  const run = session.run.now.value;
  if (run === null || run.splits.length === 0) return null;
  const known = session.brief.now.value;
  const brief = known?.run === run.id ? known : null;
  const aside = findingsAside(run.id);
  const sentences = (brief?.sentences ?? []).filter(({ evidence }) => !aside.has(evidence.finding));
  const isReading = brief === null || session.brief.isPartial.value;
  return (
    <section class={style["band"]} aria-label="Brief" aria-busy={isReading ? "true" : undefined}>
      <div class={style["sentences"]} data-open={isOpen || undefined}>
        {brief === null || (isReading && sentences.length === 0) ? (
          <p class="quiet">{session.brief.error.value === "" ? "Reading the run …" : session.brief.error.value}</p>
        ) : sentences.length === 0 ? (
          <p class="quiet">Nothing stands out in this run.</p>
        ) : (
          sentences.map((sentence) => <Sentence key={sentence.text} sentence={sentence} brief={brief} />)
        )}
      </div>
      {brief !== null && (
        <div class={style["side"]}>
          {sentences.length > 1 && (
            <button type="button" class="action" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
              {isOpen ? "Fewer" : `${sentences.length - 1} more`}
            </button>
          )}
          {isReading && sentences.length > 0 && (
            <p title="Sentences about texts, such as what the reward pays for, follow">still reading texts …</p>
          )}
          {(session.brief.isOld.value || activityOf(run) === "running") && session.brief.asOf.value !== null && (
            <p title="Later steps are not in these sentences yet; they follow while the run grows">
              as of step {figure(session.brief.asOf.value)}
            </p>
          )}
        </div>
      )}
    </section>
  );
}

function Sentence({ sentence, brief }: { sentence: BriefSentence; brief: Brief }) {
  const session = useSession();
  const place = placeOf(sentence, brief.split);
  const text = harmless(sentence.text);
  const flexGrow = Math.max(LEAST_CHARS, text.length); // as many lines for each
  return (
    <a
      class={style["sentence"]}
      style={{ flexGrow }}
      href={session.place.href(place)}
      onClick={session.place.onLink(place)}
      title={text}
    >
      <span class={style["text"]}>
        <span class={style["kind"]} data-kind={sentence.kind}>
          {KINDS[sentence.kind]}
        </span>{" "}
        <Text text={text} />
      </span>
    </a>
  );
}

/** Shorter sentences get as much room as one of this length. */
const LEAST_CHARS = 50;

/** The place that shows the evidence of a sentence. */
export function placeOf({ evidence, steps }: BriefSentence, split: string): Partial<Place> {
  const { page, curve, finding, where, sort, descending, discarded, samples } = evidence;
  if (page === "findings") return { page, ask: { finding } };
  if (page === "evals") return { page, ask: { of: evidence.split } };
  if (page === "metrics") return { page, ask: curve === null ? {} : { curve: keyOfCurve(curve) } };
  const [sample] = samples;
  if (sample !== undefined) return { page, sample, discarded, list: false };
  const [first, last] = steps ?? [null, null];
  return {
    page,
    discarded,
    split: evidence.split || split,
    mode: "samples",
    step: last,
    extent: first === last ? "step" : [first, last],
    where,
    sort: sort || "index",
    descending,
    sample: null,
  };
}
