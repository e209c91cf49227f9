/** What the palette finds: pages, runs, steps, samples, metrics, bookmarks, and everything that can be done. */

import { signal } from "@preact/signals";
import { getSamples } from "../../api";
import { scopeOf } from "../../lib/address";
import { fit } from "../../lib/fuzzy";
import { nearest } from "../../lib/rows";
import { nameOfSplit } from "../../lib/splits";
import { count, figure, score, whole } from "../../lib/numbers";
import { doings } from "../../state/actions";
import { columns, label as labelOf } from "../../state/columns";
import { nameOf, runMark, sampleMarks } from "../../state/marks";
import { go, place } from "../../state/place";
import { run, runs, samplesOf, splitChoices } from "../../state/runs";
import { steps } from "../../state/steps";
import { pages } from "../frame/pages";

export const paletteOpen = signal(false);

/** Something to choose. */
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

/** A sample by its number in the step that is looked at: `#40`. */
const NUMBERED = /^#(\d{1,12})$/;

/** What fits, the best first; without a pattern what is at hand here. */
export function find(pattern: string): Found[] {
  const direct = directly(pattern.trim());
  const fitting = choices().flatMap((choice) => {
    const found = fit(pattern, choice.words) ?? fitted(pattern, choice);
    return found === null ? [] : [{ choice, ...found }];
  });
  if (pattern.trim() !== "") fitting.sort((a, b) => b.score - a.score);
  return [...direct.map((choice) => ({ choice, at: [] })), ...fitting].slice(0, MOST);
}

/** Letters may also fit what stands behind the words: the kind, the path of a run, the id of a sample. */
function fitted(pattern: string, choice: Choice): { score: number; at: readonly number[] } | null {
  const found = fit(pattern, `${choice.words} ${choice.kind} ${choice.more}`);
  return found === null ? null : { score: found.score / 2, at: found.at.filter((letter) => letter < choice.words.length) };
}

/** What is a step's number, or a sample's id, is gone to. */
function directly(text: string): Choice[] {
  const found: Choice[] = [];
  const here = place.peek();
  const known = steps.peek();
  const wanted = whole(text.replace(/^step\s*/i, ""));
  if (wanted !== null && known !== null && known.steps.length > 0) {
    const at = nearest(known.steps, wanted);
    const step = known.steps[at] ?? 0;
    const more = `${count(known.samples[at] ?? 0, "sample")} · mean reward ${score(known.reward_mean[at], "none")}`;
    found.push({ key: "step", kind: "step", words: `${known.split} ${figure(step)}`, more, act: () => go({ page: "rollouts", step }) });
  }
  const number = NUMBERED.exec(text)?.[1];
  if (number !== undefined && here.run !== null && here.split !== null && here.step !== null) {
    const { run: of, split, step } = here;
    found.push({ key: "number", kind: "sample", words: `${nameOfSplit(split)} ${figure(step)} #${number}`, more: "by its number in the step, from 0", act: () => void openNumbered(of, split, step, number) });
  }
  const scope = scopeOf(text);
  if (scope !== null && here.run !== null) {
    found.push({ key: "sample", kind: "sample", words: text, more: "", act: () => go({ page: "rollouts", ...scope, sample: text }) });
  }
  return found;
}

function choices(): Choice[] {
  const here = place.value;
  const own = run.value;
  return [
    ...doings.value.filter(({ action, can }) => action !== "palette" && can()).map(({ action, words, label, act }) => ({ key: `do ${action}`, kind: "do", words: capital(words), more: label, act })),
    ...pages().map(({ page, discarded = false, label, more }) => ({ key: `page ${label}`, kind: "page", words: label, more, act: () => go({ page, discarded, list: false }) })),
    ...splitChoices.value.map(({ name, steps: length }) => ({
      key: `split ${name}`, kind: "split", words: nameOfSplit(name), more: count(length, "step"), act: () => go({ page: here.page === "report" ? "report" : "rollouts", split: name }),
    })),
    ...(runs.value ?? []).map((item) => ({
      key: `run ${item.id}`, kind: "run", words: nameOf(item), more: `${count(samplesOf(item), "sample")}${runMark(item.id).hidden ? " · hidden" : ""}`,
      act: () => go(item.id === here.run ? { page: "rollouts" } : { page: "rollouts", run: item.id }),
    })),
    ...(own === null ? [] : columns.value.filter(({ kind }) => kind === "number")).map(({ name }) => ({
      key: `metric ${name}`, kind: "metric", words: labelOf(name), more: labelOf(name) === name ? "sort the list by it" : `${name} · sort the list by it`,
      act: () => go({ page: "rollouts", sort: name, descending: true }),
    })),
    ...sampleMarks.value.flatMap(({ item, owner }) => {
      const mark = item.sample_mark;
      if (mark === null || owner === null || owner.run === "") return [];
      return [{ key: `mark ${item.owner} ${item.name}`, kind: "bookmark", words: firstLine(mark.note || mark.excerpt || item.name), more: item.name, act: () => openSample(owner.run, item.name) }];
    }),
  ];
}

/** Go to a sample of any open run. */
function openSample(of: string, id: string): void {
  const scope = scopeOf(id);
  if (scope !== null) go({ ...(of === place.peek().run ? {} : { run: of }), page: "rollouts", ...scope, sample: id, view: "transcript", list: false });
}

/** Go to a sample by its number in its step; where the step has fewer, nothing happens. */
async function openNumbered(of: string, split: string, step: number, number: string): Promise<void> {
  const query = { split, step, where: `number = ${number}`, sort: "index", descending: false, offset: 0, limit: 1 };
  const id = await getSamples(of, query).then(({ samples }) => samples[0]?.id, () => undefined);
  if (id !== undefined) openSample(of, id);
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
const firstLine = (text: string): string => (text.trim().split("\n")[0] ?? "").slice(0, 120);
