/** The figures of a sample, in reading order. */

import type { GroupItem, SampleReply, SourceInfo, WireNumber } from "../../api/types.gen";
import { isReason, meaningOf } from "./discardReasons";
import { bareName, commonPrefix, isScore } from "../list/metricNames";
import { exact, figure, finite, score, signed, size } from "../numbers/numbers";

/** `tone`: the scale of the value's colour. */
export interface Labelled {
  label: string;
  text: string;
  /** All its digits, and what the label omits. */
  title: string;
  /** The full name, if the label is a part of it. */
  name?: string;
  tone?: "reward" | "advantage" | "metric" | "warn" | "tag";
  value?: number | null;
  /** The name of the figure in filters. */
  field?: string;
  /** The value to filter by; undefined if filters cannot use it. */
  by?: string | number;
}

/** Names of metrics that repeat a figure shown anyway. */
const SAID: ReadonlySet<string> = new Set([
  "reward",
  "advantage",
  "lag",
  "policy_lag",
  "version_lag",
  "staleness",
  "policy_version",
  "weight_version",
  "model_version",
]);
/** What ended a sample before its time. A limit, and an error of the model, are its status already. */
const CAUSES: ReadonlyMap<string, string> = new Map([
  ["environment", "a failure of the environment"],
  ["grader", "a failure of the grader"],
  ["timeout", "a time-out"],
]);
const FINE: ReadonlySet<string> = new Set(["completed", "unknown"]);

/** True for a metric that repeats the reward under another name. */
const isReward = (name: string, value: unknown, { reward }: SampleReply): boolean =>
  value !== null && value === reward && isScore(name);

/** The rewards of a sample's group. */
export type GroupReward = Pick<GroupItem, "reward_mean" | "reward_std">;

/** `group`: the sample's group, if no advantage is recorded; null omits the comparison. */
export function labelled(reply: SampleReply, group: GroupReward | null = null): Labelled[] {
  const metrics = reply.facts.filter(
    ({ name, kind, value }) => kind === "metric" && !SAID.has(name) && !isReward(name, value, reply),
  );
  const prefix = commonPrefix(metrics.map(({ name }) => name));
  return [
    {
      label: "Reward",
      text: score(reply.reward, "none"),
      title: exact(reply.reward),
      tone: "reward",
      value: finite(reply.reward),
      ...filter("reward", reply.reward),
    },
    ...number("Advantage", reply.advantage, (value) => ({
      text: signed(value),
      tone: "advantage",
      value: finite(value),
      ...filter("advantage", value),
    })),
    ...besideGroup(reply, group),
    ...status(reply),
    ...word("Ended by", CAUSES.get(reply.cause) ?? "", "cause", "warn", reply.cause),
    ...discarded(reply),
    ...tokens(reply),
    {
      label: "Turns",
      text: figure(reply.turn_count),
      title: exact(reply.turn_count),
      ...filter("turns", reply.turn_count),
    },
    ...policy(reply),
    ...metrics.flatMap(({ name, value }) =>
      number(bareName(name, prefix), value, () => ({
        text: figure(value),
        name,
        tone: "metric",
        value: finite(value),
        ...filter(name, value),
      })),
    ),
    ...word("Env", reply.env, "env"),
    ...word("Id", reply.uid, "uid", "tag"),
    ...reply.facts
      .filter(({ kind }) => kind === "tag")
      .flatMap(({ name, value }) => word(name, String(value ?? ""), name, "tag")),
    ...reply.facts
      .filter(({ kind }) => kind === "own")
      .map(({ name, value }): Labelled => ({
        label: name,
        text: factText(value),
        title: String(value ?? ""),
        tone: "tag",
      })),
    // Values derived from the texts come after values from the files.
    ...reply.facts
      .filter(({ kind }) => kind === "derived")
      .flatMap(({ name, label, value }) =>
        typeof value === "string" && finite(value) === null
          ? word(label, value, name, "tag")
          : number(label, value, () => ({ text: figure(value), name, value: finite(value), ...filter(name, value) })),
      ),
  ];
}

/** A fact as the framework wrote it; numbers with separated thousands. */
export function factText(value: WireNumber): string {
  return typeof value === "number" ? figure(value) : String(value ?? "");
}

/** The distance of the reward from the mean of its group, which group-relative advantages start from. */
function besideGroup({ reward, group_size }: SampleReply, group: GroupReward | null): Labelled[] {
  const [value, mean, std] = [finite(reward), finite(group?.reward_mean), finite(group?.reward_std)];
  if (value === null || mean === null || group === null || group_size < 2) return [];
  const scaled = std === null || std === 0 ? "" : ` (${signed((value - mean) / std)} σ)`;
  return [
    {
      label: "vs group",
      text: `${signed(value - mean)}${scaled}`,
      title:
        `reward minus ${exact(group.reward_mean)}, the mean of its group, and in standard deviations of the group; ` +
        "the files hold no advantage",
      tone: "advantage",
      value: value - mean,
    },
  ];
}

function number(
  label: string,
  value: WireNumber,
  rest: (value: WireNumber) => Omit<Labelled, "label" | "title">,
): Labelled[] {
  return value === null ? [] : [{ label, title: exact(value), ...rest(value) }];
}

function word(label: string, text: string, field: string, tone?: "warn" | "tag", by = text): Labelled[] {
  return text === "" ? [] : [{ label, text, title: text, field, by, ...(tone && { tone }) }];
}

function filter(field: string, value: WireNumber): Pick<Labelled, "field" | "by"> {
  return value === null ? {} : { field, by: value };
}

/** The policy that wrote the response, and its age: `109, lag 1`. */
function policy({ policy_version: version, lag }: SampleReply): Labelled[] {
  const late = lag === null ? "" : `lag ${figure(lag)}`;
  const text = [version, late].filter((part) => part !== "").join(", ");
  return text === ""
    ? []
    : [{ label: "Policy", text, title: `the version of the policy that wrote the response: ${text}` }];
}

/** The reason for discarding it, in the framework's own words if it is the way it ended. */
function discarded(reply: SampleReply): Labelled[] {
  const [fact] = word("Discarded", reply.discarded, "discarded", "warn");
  if (fact === undefined) return [];
  const meaning = meaningOf(reply.discarded);
  const explained = meaning === "" ? fact : { ...fact, title: `${reply.discarded}: ${meaning}` };
  return [isReason(reply.status, reply.discarded) ? { ...explained, text: ended(reply) } : explained];
}

const ended = ({ status: name, status_raw: raw }: SampleReply): string =>
  raw === "" || raw.toLowerCase() === name ? name : `${name} (${raw})`;

function status(reply: SampleReply): Labelled[] {
  const { status: name, status_raw: raw } = reply;
  if ((name === "unknown" && raw === "") || isReason(name, reply.discarded)) return [];
  const text = ended(reply);
  return [
    {
      label: "Status",
      text,
      title: raw || name,
      ...filter("status", name),
      ...(!FINE.has(name) && { tone: "warn" as const }),
    },
  ];
}

function tokens({ prompt_tokens, response_tokens, total_tokens }: SampleReply): Labelled[] {
  const parts = [
    prompt_tokens === null ? "" : `${figure(prompt_tokens)} prompt`,
    response_tokens === null ? "" : `${figure(response_tokens)} response`,
    total_tokens === null ? "" : `${figure(total_tokens)} in all`,
  ].filter((part) => part !== "");
  if (parts.length === 0) return [];
  const shown = response_tokens ?? total_tokens ?? prompt_tokens;
  return [
    {
      label: response_tokens === null ? "Tokens" : "Response tokens",
      text: figure(shown),
      title: parts.join(", "),
      ...(response_tokens !== null && filter("response_tokens", response_tokens)),
    },
  ];
}

/** The place of a record in its file: bytes, or the row of a table. */
export function whereIn({ start, stop, part }: SourceInfo): string {
  if (stop === start) return `row ${figure(start)} of ${part}`;
  return `bytes ${figure(start)}–${figure(stop)} (${size(stop - start)})${part === "" ? "" : ` · ${part}`}`;
}
