/** Where the gradient came from: the samples that the run learned from, with a link to each list. */

import { askGradient } from "../../../api/routes.gen";
import type { RunGradient, GradientShare } from "../../../api/types.gen";
import type { Place } from "../../../lib/address/address";
import { count, figure } from "../../../lib/numbers/numbers";
import { percent } from "../../../lib/sample/discardReasons";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Failure } from "../../../ui/layout/EmptyState";
import { option } from "../options";
import { To } from "../To";
import { Dead } from "./Dead";
import { Prompts } from "./Prompts";
import { listOf } from "./places";
import style from "./Gradient.module.css";

/** The most bars that fit. */
const BINS = 40;

export function Gradient({ run, version }: { run: string; version: string }) {
  const session = useSession();
  const query = {
    step_min: option(session, "from"),
    step_max: option(session, "to"),
    env: option(session, "env"),
    correct: option(session, "correct"),
    bins: BINS,
  };
  const isTrained = ["", "train"].includes(option(session, "of"));
  const key = isTrained ? [run, version, ...Object.values(query)].join("\n") : null;
  const { value: reply, error, again } = useLoaded(key, () => askGradient(run, query), run);
  if (!isTrained || reply?.groups === 0 || (reply === null && error === null)) return null;
  return (
    <section class={style["gradient"]} aria-label="Where the gradient came from">
      <h2>Where the gradient came from</h2>
      {reply === null ? (
        error !== null && <Failure error={error} what="The gradient" again={again} />
      ) : (
        <>
          <Dead reply={reply} />
          <Shares reply={reply} />
          <Prompts reply={reply} />
        </>
      )}
    </section>
  );
}

const isRecorded = ({ shaping, by_length: [first] }: RunGradient): boolean =>
  (shaping ?? first)?.recorded !== null && (shaping ?? first) !== undefined;

function Shares({ reply }: { reply: RunGradient }) {
  const { shaping, by_env: envs, by_length: lengths, by_outcome: outcomes } = reply;
  const parts: [string, GradientShare[]][] = [
    ["Environment", envs],
    ["Length", lengths],
    ["Outcome", outcomes],
  ];
  const all = parts.filter(([, shares]) => shares.length > 0);
  if (reply.groups === reply.dead || (all.length === 0 && shaping === null)) return null;
  return (
    <>
      <p class="quiet">
        A sample pulls by the square of its advantage: its reward less the mean of its group
        {isRecorded(reply) ? "; that" : ", or that"} divided by the standard deviation of the group, as GRPO does
        {isRecorded(reply) ? "; or the advantage that the trainer recorded" : ""}. Effective number of groups:{" "}
        {figure(Math.round(reply.effective))}.
      </p>
      <div class={style["scroll"]}>
        <table class={style["shares"]}>
          <thead>
            <tr>
              <th scope="col">part</th>
              <th scope="col">samples</th>
              <th scope="col">rewards</th>
              <th scope="col">divided by std</th>
              {isRecorded(reply) && <th scope="col">recorded</th>}
            </tr>
          </thead>
          {shaping !== null && (
            <tbody>
              <Share
                of={{ ...shaping, name: "All right or all wrong" }}
                reply={reply}
                more=" that differ by other parts"
              />
            </tbody>
          )}
          {all.map(([name, shares]) => (
            <tbody key={name}>
              <tr>
                <th scope="rowgroup">{name}</th>
              </tr>
              {shares.map((of) => (
                <Share key={of.name} of={of} reply={reply} />
              ))}
            </tbody>
          ))}
        </table>
      </div>
    </>
  );
}

interface ShareProps {
  of: GradientShare;
  reply: RunGradient;
  more?: string;
}

function Share({ of, reply, more = "" }: ShareProps) {
  const name = harmless(of.name === "" ? "none" : of.name);
  const [group] = reply.shaping_samples;
  const to: Partial<Place> | null =
    of.where !== ""
      ? listOf(reply, of.where)
      : group === undefined
        ? null
        : { page: "rollouts", split: "train", sample: group, view: "group" };
  const shares = [of.samples / reply.samples, of.on_rewards, of.on_std, ...(of.recorded === null ? [] : [of.recorded])];
  return (
    <tr>
      <th scope="row">
        {to === null ? name : <To place={to} text={name} />}
        <span class="quiet">
          {" "}
          {count(of.groups, "group")}
          {more}
        </span>
      </th>
      {shares.map((share, i) => (
        <td key={i}>
          {percent(share, 1)}
          <i style={{ inlineSize: `${100 * share}%` }} />
        </td>
      ))}
    </tr>
  );
}
