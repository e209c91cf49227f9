/** Records for tests. */

import type {
  PartView,
  PromptLife,
  PromptStep,
  RunItem,
  SampleItem,
  SampleReply,
  SamplesReply,
  SplitItem,
  TurnView,
} from "../api/types.gen";
import { keyOf } from "../lib/list/scope";
import type { Listing } from "../state/list/list";
import type { Session } from "../state/session";

export function part(kind: string, text: string, more: Partial<PartView> = {}): PartView {
  return {
    kind,
    text,
    raw: null,
    call: null,
    closed: true,
    image: false,
    cut: 0,
    styles: [],
    summary: null,
    result: null,
    ...more,
  };
}

export function turn(role: string, parts: PartView[], more: Partial<TurnView> = {}): TurnView {
  const chars = parts.reduce((sum, { raw, text }) => sum + (raw ?? text).length, 0);
  return {
    role,
    origin: "prompt",
    name: "",
    tool_call_id: "",
    tokens: null,
    chars,
    reward: null,
    stop_reason: "",
    metrics: {},
    logs: {},
    facts: {},
    parts,
    ...more,
  };
}

export function reply(more: Partial<SampleReply> = {}): SampleReply {
  return {
    id: "train/1/0/0",
    run: "r",
    split: "train",
    step: 1,
    group: "0",
    index: "0",
    uid: "",
    reward: 1,
    advantage: null,
    status: "completed",
    status_raw: "",
    cause: "",
    env: "",
    discarded: "",
    policy_version: "",
    lag: null,
    prompt_id: "0123456789abcdef",
    prompt_steps: 1,
    turn_count: 1,
    prompt_tokens: null,
    response_tokens: 5,
    total_tokens: null,
    position: 1,
    group_size: 2,
    group_ids: ["train/1/0/0", "train/1/0/1"],
    facts: [],
    turns: [],
    turn_from: 0,
    turn_total: more.turns?.length ?? 0,
    chars: 100,
    label: "",
    reference: null,
    extra: {},
    extra_images: [],
    series: [],
    notes: [],
    report_at: "",
    source: { file: "train/1.jsonl", start: 0, stop: 606, part: "" },
    ...more,
  };
}

export function promptStep(step: number, more: Partial<PromptStep> = {}): PromptStep {
  return {
    split: "train",
    step,
    samples: 8,
    groups: 1,
    discarded: 0,
    reward_mean: 0.5,
    reward_std: 0.5,
    response_tokens: null,
    best: `train/${step}/0/7`,
    worst: `train/${step}/0/0`,
    ids: [0, 1, 2, 7].map((index) => `train/${step}/0/${index}`),
    ...more,
  };
}

export const promptLife = (steps: PromptStep[]): PromptLife => ({
  run: "r",
  version: "1",
  prompt: "0123456789abcdef",
  text: "Why?",
  steps,
  is_cut: false,
});

export function item(place: number, more: Partial<SampleItem> = {}): SampleItem {
  return {
    id: `train/1/${Math.floor(place / 2)}/${place}`,
    split: "train",
    step: 1,
    group: String(Math.floor(place / 2)),
    index: String(place),
    uid: "",
    reward: place % 2,
    advantage: null,
    status: "completed",
    turns: 1,
    prompt_tokens: null,
    response_tokens: 10 + place,
    total_tokens: null,
    response_chars: 40,
    prompt: "Question",
    response: `Answer ${place}`,
    response_end: "",
    discarded: "",
    env: "",
    values: [],
    ...more,
  };
}

export function splitItem(more: Partial<SplitItem> = {}): SplitItem {
  return {
    name: "train",
    steps: 1,
    samples: 250,
    discarded: 0,
    first_step: 1,
    last_step: 1,
    reward_min: 0,
    reward_max: 1,
    last_reward: 0.5,
    last_response_tokens: 10,
    last_response_chars: 40,
    ...more,
  };
}

export function runItem(more: Partial<RunItem> = {}): RunItem {
  return {
    id: "r",
    name: "r",
    format: "relax",
    reason: "",
    path: "/r",
    about: "",
    group: "",
    problems: 0,
    may_report: false,
    has_metrics_alone: false,
    logged_reward: null,
    version: "1",
    live: true,
    has_grown: true,
    ending: "",
    changed_s: 1,
    quiet_s: 600,
    reward_range: null,
    metric_ranges: [],
    splits: [splitItem()],
    progress: { done_bytes: 1, total_bytes: 1, phase: "ready" },
    ...more,
  };
}

export function samplesReply(samples: SampleItem[], more: Partial<SamplesReply> = {}): SamplesReply {
  return {
    run: "r",
    version: "1",
    total: samples.length,
    of: samples.length,
    offset: 0,
    stamp: 1,
    pending: 0,
    discarded: 0,
    reasons: [],
    columns: [],
    samples,
    ...more,
  };
}

/** A list for the place of a session. */
export function listing(session: Session, more: Partial<Listing>): Listing {
  const scope = session.list.scopeAt(session.place.now.peek());
  if (scope === null) throw new Error("a step is a scope");
  return {
    scope,
    key: keyOf(scope),
    version: "1",
    mode: "samples",
    columns: [],
    total: 0,
    of: 0,
    rows: 0,
    pages: new Map(),
    groups: new Map(),
    requests: new Set(),
    stamp: 1,
    pending: 0,
    discarded: 0,
    reasons: [],
    hasStatus: true,
    ...more,
  };
}
