/** A report: the samples at the left, and one of them as a transcript or as tokens. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { decoded } from "../lib/address/decoded";
import { nameOfSample } from "../lib/sample/name";
import { exact, figure } from "../lib/numbers/numbers";
import { TOKEN_KEYS } from "../lib/keymap";
import { harmless } from "../lib/text/invisible";
import { useSession } from "../state/useSession";
import { SLIM, useMatch } from "../ui/hooks/useMatch";
import { Facts, Transcript } from "../features/sample";
import { asideTitle, appliesToTokens, tokenDoers, TokensAside, TokensFile, TokensPane } from "../features/tokens";
import type { ReportData, ReportSample } from "./answers";
import { Insight } from "./Insight";
import { RewardCurve } from "./RewardCurve";
import style from "./Report.module.css";

type Way = "transcript" | "tokens";

/** The list is above the sample. */
const STACKED = "(max-width: 900px)";

export function Report({ data }: { data: ReportData }) {
  const session = useSession();
  const [words, setWords] = useState("");
  // Samples that are the worst by one of their tokens are shown by their tokens.
  const [way, setWay] = useState<Way>(data.samples.some(hasToken) ? "tokens" : "transcript");
  const found = useMemo(() => matching(data.samples, words), [data, words]);
  const held = useMemo(() => new Set(data.samples.map((sample) => sample.reply.id)), [data]);
  const id = session.place.field.sample.value;
  const at = found.findIndex((sample) => sample.reply.id === id);
  const open = (sample: ReportSample | undefined, isAtTop = false): void => {
    if (sample === undefined) return;
    const { id: next, split, step } = sample.reply;
    const worst = worstOf(sample);
    session.place.go({ sample: next, split, step, view: way, ...worst, ...(isAtTop && { token: null }) }, "replace");
    location.replace(`#${encodeURIComponent(next)}`);
  };
  const look = (next: Way): void => {
    setWay(next);
    session.place.go({ view: next }, "replace");
  };
  useEffect(() => {
    if (id !== null) return;
    const named = namedIn(data);
    // If the list is above the sample, a jump to a token would open the report far below its heading.
    open(named ?? data.samples[0], named === undefined && matchMedia(STACKED).matches);
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return;
      const ofTokens = TOKEN_KEYS.find(({ keys }) => keys.includes(event.key))?.action;
      if (event.key === "j" || event.key === "k") open(found[at + (event.key === "j" ? 1 : -1)]);
      else if (event.key === "t") look(way === "tokens" ? "transcript" : "tokens");
      else if (ofTokens !== undefined && appliesToTokens(session, ofTokens)) tokenDoers(session)[ofTokens]();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const current = data.samples.find((sample) => sample.reply.id === id);
  return (
    <div class={style["report"]}>
      <header class={style["head"]}>
        <h1>{harmless(data.title)}</h1>
        <p>
          {harmless(data.about)} {harmless(data.part)} {harmless(data.made)}{" "}
          {data.next_file !== "" && <a href={data.next_file}>More samples</a>}
        </p>
        {data.failures.map((failure) => (
          <p key={failure} role="alert">
            This report is incomplete. {harmless(failure)} Next: make it again.
          </p>
        ))}
        {data.curve !== null && <RewardCurve of={data.curve} step={current?.reply.step ?? null} />}
        {data.insight !== null && (
          <Insight
            of={data.insight}
            held={held}
            open={(wanted) => open(data.samples.find(({ reply }) => reply.id === wanted))}
          />
        )}
      </header>
      <nav class={style["list"]} aria-label="Samples">
        <label>
          Filter{" "}
          <input
            class="field"
            type="search"
            value={words}
            placeholder="words, an id or a status"
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </label>
        {data.measure !== "" && (
          <p class="quiet">
            The worst first, by {harmless(data.measure_title)}
            {data.measure_title !== data.measure && ` (${harmless(data.measure)})`}: the number before each.
          </p>
        )}
        <p role="status">
          {found.length === data.samples.length ? "" : `${figure(found.length)} of ${figure(data.samples.length)}`}
        </p>
        <ol>
          {found.map((sample) => (
            <li key={sample.reply.id}>
              <button
                type="button"
                aria-current={sample.reply.id === id ? "true" : undefined}
                onClick={() => open(sample)}
              >
                <Rating sample={sample} measure={data.measure} />
                <span>{harmless(sample.preview)}</span>
                <small title={harmless(sample.reply.id)}>{harmless(about(sample))}</small>
              </button>
            </li>
          ))}
        </ol>
      </nav>
      <main class={style["sample"]} aria-label="Sample">
        {current !== undefined && <Sample sample={current} way={way} look={look} />}
      </main>
    </div>
  );
}

/** The measure of the worst samples, else the reward. */
function Rating({ sample: { reply, measured }, measure }: { sample: ReportSample; measure: string }) {
  const [name, value] = measured === null ? ["reward", reply.reward] : [measure, measured.value];
  return (
    <b title={harmless(`${name}: ${exact(value)}`)}>
      <span class="hidden">{harmless(name)} </span>
      {harmless(figure(value, "–"))}
    </b>
  );
}

/** The line of a sample in the list, below its answer. */
function about({ reply, measured }: ReportSample): string {
  const reward = measured === null ? [] : [`reward ${figure(reply.reward, "none")}`];
  return [...reward, nameOfSample(reply.id)].join(" · ");
}

const hasToken = ({ measured, tokens }: ReportSample): boolean => (measured?.token ?? null) !== null && tokens !== null;

/** The token with the measure of the worst samples, and the series to see it by. */
function worstOf({ measured }: ReportSample): { token: number | null; colour?: string } {
  const { token = null, series = "" } = measured ?? {};
  return { token, ...(series !== "" && { colour: series }) };
}

function Sample({ sample, way, look }: { sample: ReportSample; way: Way; look: (way: Way) => void }) {
  const session = useSession();
  const isSlim = useMatch(SLIM); // the pane then holds the aside
  const reply = session.sample.now.value;
  if (reply === null || reply.id !== sample.reply.id) return null;
  return (
    <>
      <div class={style["bar"]}>
        <h2 title={harmless(reply.id)}>{harmless(nameOfSample(reply.id))}</h2>
        {sample.tokens !== null && (
          <div role="group" aria-label="View">
            <button type="button" class="action" aria-pressed={way === "transcript"} onClick={() => look("transcript")}>
              Transcript
            </button>
            <button type="button" class="action" aria-pressed={way === "tokens"} onClick={() => look("tokens")}>
              Tokens
            </button>
          </div>
        )}
        {way === "tokens" && <TokensFile />}
      </div>
      <Facts reply={reply} />
      {sample.note !== "" && <p class={style["note"]}>{harmless(sample.note)}</p>}
      {way === "tokens" && sample.tokens !== null ? (
        <div class={style["tokens"]}>
          <TokensPane key={reply.id} />
          {!isSlim && (
            <aside aria-label={asideTitle(session.place.field.tokensAs.value)} tabIndex={0}>
              <TokensAside isBelow />
            </aside>
          )}
        </div>
      ) : (
        <Transcript key={reply.id} reply={reply} />
      )}
    </>
  );
}

/** The samples that have all of the words somewhere. */
function matching(samples: readonly ReportSample[], words: string): readonly ReportSample[] {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (wanted.length === 0) return samples;
  return samples.filter((sample) => {
    const text = textOf(sample);
    return wanted.every((word) => text.includes(word));
  });
}

const texts = new WeakMap<ReportSample, string>();

function textOf(sample: ReportSample): string {
  const known = texts.get(sample);
  if (known !== undefined) return known;
  const { id, status, env, discarded, turns } = sample.reply;
  const parts = turns.flatMap((turn) => turn.parts.map((part) => part.text));
  const text = [id, status, env, discarded, sample.note, ...parts].join("\n").toLowerCase();
  texts.set(sample, text);
  return text;
}

/** The sample that the address names. */
function namedIn({ samples }: ReportData): ReportSample | undefined {
  const name = decoded(location.hash.slice(1));
  return samples.find((sample) => sample.reply.id === name);
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");
}
