/** The entries of the palette: pages, runs, steps, samples, metrics, bookmarks, and all actions. */

import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { getSamples } from "../../api";
import type { ColumnInfo } from "../../api/types.gen";
import { hasStep, scopeOf } from "../../lib/address/address";
import { quoted } from "../../lib/list/filter";
import { fit } from "../../lib/text/fuzzy";
import { nearest } from "../../lib/numbers/nearest";
import { nameOfSplit } from "../../lib/address/splits";
import { count, figure, score, whole } from "../../lib/numbers/numbers";
import { actionEntries } from "../../state/actions";
import { nameOf, runMark, sampleMarks } from "../../state/marks";
import { placeOf, runs, samplesOf } from "../../state/runs";
import { pages } from "../pages";

export const paletteOpen = signal(false);

/** An entry. */
export interface Choice {
  key: string;
  kind: string;
  words: string;
  more: string;
  act: () => void;
}

export interface Found {
  choice: Choice;
  at: readonly number[];
}

export const MOST = 50;

/** A sample by its number in the current step: `#40`. */
const NUMBERED = /^#(\d{1,12})$/;

/** The matching entries, the best first; without a pattern, those for the current place. */
export function find(session: Session, pattern: string): Found[] {
  const direct = directly(session, pattern.trim());
  const fitting = choices(session).flatMap((choice) => {
    const match = fit(pattern, choice.words) ?? fitted(pattern, choice);
    return match === null ? [] : [{ choice, ...match }];
  });
  if (pattern.trim() !== "") fitting.sort((a, b) => b.score - a.score);
  return [...direct.map((choice) => ({ choice, at: [] })), ...fitting].slice(0, MOST);
}

/** Letters may also match the text after the words: the kind, the path of a run, the id of a sample. */
function fitted(pattern: string, choice: Choice): { score: number; at: readonly number[] } | null {
  const match = fit(pattern, `${choice.words} ${choice.kind} ${choice.more}`);
  return match === null
    ? null
    : { score: match.score / 2, at: match.at.filter((letter) => letter < choice.words.length) };
}

/** A pattern that is a step's number or a sample's id goes there. */
function directly(session: Session, text: string): Choice[] {
  const result: Choice[] = [];
  const here = session.place.now.peek();
  const reply = session.steps.reply.peek();
  const target = whole(text.replace(/^step\s*/i, ""));
  if (target !== null && reply !== null && reply.steps.length > 0) {
    const at = nearest(reply.steps, target);
    const step = reply.steps[at] ?? 0;
    const more = `${count(reply.samples[at] ?? 0, "sample")} · mean reward ${score(reply.reward_mean[at], "none")}`;
    result.push({
      key: "step",
      kind: "step",
      words: `${reply.split} ${figure(step)}`,
      more,
      act: () => session.place.go({ page: "rollouts", step }),
    });
  }
  const number = NUMBERED.exec(text)?.[1];
  if (number !== undefined && here.run !== null && here.split !== null && here.step !== null) {
    const { run: of, split, step } = here;
    result.push({
      key: "number",
      kind: "sample",
      words: `${nameOfSplit(split)} ${figure(step)} #${number}`,
      more: "by its number in the step, from 0",
      act: () => void openNumbered(session, of, split, step, number),
    });
  }
  const scope = scopeOf(text);
  if (scope !== null && here.run !== null) {
    result.push({
      key: "sample",
      kind: "sample",
      words: text,
      more: "",
      act: () => session.place.go({ page: "rollouts", ...scope, sample: text }),
    });
  }
  return result;
}

function choices(session: Session): Choice[] {
  const here = session.place.now.value;
  const run = session.run.now.value;
  return [
    ...actionEntries.value
      .filter(({ action, can }) => action !== "palette" && can())
      .map(({ action, words, label, act }) => ({
        key: `do ${action}`,
        kind: "do",
        words: capital(words),
        more: label,
        act,
      })),
    ...pages(session).map(({ page, discarded = false, label, more }) => ({
      key: `page ${label}`,
      kind: "page",
      words: label,
      more,
      act: () => session.place.go({ page, discarded, list: false }),
    })),
    ...session.run.splitChoices.value.map(({ name, steps: length }) => ({
      key: `split ${name}`,
      kind: "split",
      words: nameOfSplit(name),
      more: count(length, "step"),
      act: () => session.place.go({ page: hasStep(here.page) ? here.page : "rollouts", split: name }),
    })),
    ...(runs.value ?? []).map((item) => ({
      key: `run ${item.id}`,
      kind: "run",
      words: nameOf(item),
      more: `${count(samplesOf(item), "sample")}${runMark(item.id).hidden ? " · hidden" : ""}`,
      act: () => session.place.go(placeOf(item)),
    })),
    ...(run === null ? [] : session.columns.all.value.filter(({ kind }) => kind === "number")).map((column) =>
      metricChoice(session, column),
    ),
    ...sampleMarks.value.flatMap(({ item, owner }) => {
      const mark = item.sample_mark;
      if (mark === null || owner === null || owner.run === "") return [];
      return [
        {
          key: `mark ${item.owner} ${item.name}`,
          kind: "bookmark",
          words: firstLine(mark.note || mark.excerpt || item.name),
          more: item.name,
          act: () => openSample(session, owner.run, item.name),
        },
      ];
    }),
  ];
}

/** A metric: the list shows all samples of the run that have a behaviour, and is sorted by any other metric. */
function metricChoice(session: Session, column: ColumnInfo): Choice {
  const { name, high } = column;
  const label = session.columns.label(name);
  const where = `${quoted(name)} > 0`;
  const does = isBehaviour(column)
    ? high === 0
      ? "none in this split"
      : "the samples that have it"
    : "sort the list by it";
  return {
    key: `metric ${name}`,
    kind: "metric",
    words: label,
    more: label === name ? does : `${name} · ${does}`,
    act: () =>
      session.place.go({
        page: "rollouts",
        sort: name,
        descending: true,
        ...(isBehaviour(column) ? { discarded: false, extent: "run", where, sample: null, list: true } : {}),
      }),
  };
}

/** Units of derived metrics that are not counts. */
const MEASURES = new Set(["nats", "characters"]);

/** A derived metric that some sample has none of, such as a count of phrases or a flag. */
const isBehaviour = ({ source, unit, low, is_empty }: ColumnInfo): boolean =>
  source === "derived" && !MEASURES.has(unit) && !is_empty && (low === 0 || low === null);

/** Go to a sample of any open run. */
function openSample(session: Session, of: string, id: string): void {
  const scope = scopeOf(id);
  if (scope !== null)
    session.place.go({
      ...(of === session.place.now.peek().run ? {} : { run: of }),
      page: "rollouts",
      ...scope,
      sample: id,
      view: "transcript",
      list: false,
    });
}

/** Go to a sample by its number in its step; does nothing if the step has fewer samples. */
async function openNumbered(session: Session, of: string, split: string, step: number, number: string): Promise<void> {
  const query = { split, step, where: `number = ${number}`, sort: "index", descending: false, offset: 0, limit: 1 };
  const id = await getSamples(of, query).then(
    ({ samples }) => samples[0]?.id,
    () => undefined,
  );
  if (id !== undefined) openSample(session, of, id);
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
const firstLine = (text: string): string => (text.trim().split("\n")[0] ?? "").slice(0, 120);
