/** Records for tests, and a place to draw them. */

import { type ComponentChild, render } from "preact";
import type { PartView, SampleItemView, SampleReply, TurnView } from "./api/types.gen";

export function part(kind: string, text: string, more: Partial<PartView> = {}): PartView {
  return { kind, text, raw: null, call: null, closed: true, image: false, cut: 0, ...more };
}

export function turn(role: string, parts: PartView[], more: Partial<TurnView> = {}): TurnView {
  const chars = parts.reduce((sum, { raw, text }) => sum + (raw ?? text).length, 0);
  return { role, origin: "prompt", name: "", tool_call_id: "", tokens: null, chars, reward: null, stop_reason: "", metrics: {}, logs: {}, facts: {}, parts, ...more };
}

export function reply(more: Partial<SampleReply> = {}): SampleReply {
  return {
    id: "train/1/0/0", run: "r", split: "train", step: 1, group: "0", index: "0", uid: "", reward: 1, advantage: null, status: "completed",
    status_raw: "", env: "", discarded: "", policy_version: "", lag: null, turn_count: 1, prompt_tokens: null, response_tokens: 5, total_tokens: null, position: 1, group_size: 2,
    group_ids: ["train/1/0/0", "train/1/0/1"], facts: [], turns: [], turn_from: 0, turn_total: more.turns?.length ?? 0, chars: 100,
    label: "", reference: null, extra: {}, extra_images: [], series: [], notes: [], source: { file: "train/1.jsonl", start: 0, stop: 606, part: "" }, ...more,
  };
}

export function item(place: number, more: Partial<SampleItemView> = {}): SampleItemView {
  return {
    id: `train/1/${Math.floor(place / 2)}/${place}`, step: 1, group: String(Math.floor(place / 2)), index: String(place), reward: place % 2, advantage: null,
    status: "completed", turns: 1, response_tokens: 10 + place, response_chars: 40, preview: `Answer ${place}`, end: "", prompt: "Question", discarded: "", env: "", values: [], ...more,
  };
}

/** Draw into a fresh element of the page. */
export async function drawn(what: ComponentChild): Promise<HTMLElement> {
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  render(what, host);
  await settled();
  return host;
}

/** Wait until effects have run and the page is drawn again. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 60));
}

/** The first element that is a button and says so. */
export function button(host: HTMLElement, words: string | RegExp): HTMLButtonElement {
  const found = [...host.querySelectorAll("button")].find((one) => (typeof words === "string" ? one.textContent.trim() === words : words.test(one.textContent)));
  if (found === undefined) throw new Error(`no button says ${String(words)}`);
  return found;
}
