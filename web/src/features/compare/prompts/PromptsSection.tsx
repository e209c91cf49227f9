/** The prompts that several of the runs answered at one step: with mean rewards, and the answers side by side. */

import { useEffect, useState } from "preact/hooks";
import { getSharedPrompts } from "../../../api/compare";
import type { RunItem, SharedPromptItem, SharedPromptsReply } from "../../../api/types.gen";
import { choicesOf, nameOfSplit } from "../../../lib/address/splits";
import { count, figure } from "../../../lib/numbers/numbers";
import { useSession } from "../../../state/useSession";
import { Segments } from "../../../ui/controls/Segments";
import { useFollowed } from "../../../ui/hooks/useFollowed";
import { Loading, Missing } from "../../../ui/layout/EmptyState";
import { Score } from "../../../ui/text/Score";
import { Text } from "../../../ui/text/Text";
import { option, rowsFor, setOptions, sharedSplits, versionOf } from "../options";
import { RunName } from "../../runs";
import { Turn } from "../Turn";
import { PromptAnswers } from "./PromptAnswers";
import { Slopes } from "./Slopes";
import style from "../Compare.module.css";

export function PromptsSection({ compared }: { compared: readonly RunItem[] }) {
  const session = useSession();
  const [offset, goTo] = useState(0);
  const split = session.place.field.split.value;
  const step = session.place.field.step.value;
  const sort = option(session, "order") === "order" ? "order" : "difference";
  const ids = compared.map(({ id }) => id);
  const limit = rowsFor(ids.length);
  const what = JSON.stringify([ids, split, step, sort]);
  useEffect(() => goTo(0), [what]);
  const loaded = useFollowed(
    split === null || step === null ? null : "prompts",
    versionOf(compared),
    () => getSharedPrompts(ids, { split: split ?? "", step: step ?? 0, sort, offset, limit }),
    `${what} ${offset}`,
  );
  const reply = loaded.value;
  return (
    <section class={style["part"]} aria-labelledby="compare-prompts">
      <div class={style["tools"]}>
        <h2 id="compare-prompts">
          Same prompts{step === null || split === null ? "" : ` at step ${figure(step)} of ${nameOfSplit(split)}`}
        </h2>
        <Segments
          label="Order of the prompts"
          options={[
            {
              value: "difference",
              label: "Largest difference",
              title: "Between the highest and the lowest mean reward",
            },
            { value: "order", label: "Original order" },
          ]}
          value={sort}
          choose={(order) => setOptions(session, { order: order === "order" ? order : "" })}
        />
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {step === null || split === null ? (
        <p class="quiet">The current run has no samples yet.</p>
      ) : reply === null ? (
        loaded.error === null && <Loading />
      ) : (
        <>
          {compared[0] !== undefined && compared[1] !== undefined && compared.length === 2 && (
            <Slopes reply={reply} runs={[compared[0], compared[1]]} />
          )}
          <Table reply={reply} compared={compared} />
          <Turn
            label="Pages of the prompts"
            offset={reply.offset}
            shown={reply.prompts.length}
            total={reply.total}
            limit={limit}
            go={goTo}
          />
        </>
      )}
    </section>
  );
}

interface TableProps {
  reply: SharedPromptsReply;
  compared: readonly RunItem[];
}

function Table({ reply, compared }: TableProps) {
  const session = useSession();
  const shown = compared.filter(({ id }) => reply.runs.includes(id));
  const open = option(session, "same");
  const isShared = compared.filter((run) => sharedSplits([run], reply.split).length > 0).length > 1;
  return (
    <>
      <p class="quiet" role="status">
        {reply.total === 0
          ? `No two of these runs share a prompt at this step.${isShared ? " Choose another step or split above." : ""}`
          : `${count(reply.total, "prompt")} that at least two of the runs answered.`}
        {reply.is_cut && " The step has too many prompts to compare them all."}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
      <div class={style["scroll"]} role="region" aria-label="Prompts by run" tabIndex={0}>
        <table class={style["table"]}>
          <thead>
            <tr>
              <th scope="col">Prompt</th>
              {shown.map((item) => (
                <th key={item.id} scope="col">
                  <RunName item={item} />
                  <AtStep item={item} prompts={reply.prompts_of[reply.runs.indexOf(item.id)] ?? 0} of={reply} />
                </th>
              ))}
            </tr>
          </thead>
          {reply.prompts.map((one) => (
            <Prompt key={one.name} one={one} reply={reply} shown={shown} isOpen={one.name === open} />
          ))}
        </table>
      </div>
    </>
  );
}

/** The number of a run's prompts at the step, or the steps that have some. */
function AtStep({ item, prompts, of }: { item: RunItem; prompts: number; of: SharedPromptsReply }) {
  if (prompts > 0) return <small class="quiet">{count(prompts, "prompt")}</small>;
  const split = choicesOf(item.splits).find(({ name }) => name === of.split);
  if (split === undefined) return <small class="quiet">has no {nameOfSplit(of.split)}</small>;
  return (
    <small class="quiet">
      none at this step; it has steps {figure(split.first_step)} to {figure(split.last_step)}
    </small>
  );
}

interface PromptProps {
  one: SharedPromptItem;
  reply: SharedPromptsReply;
  shown: readonly RunItem[];
  isOpen: boolean;
}

function Prompt({ one, reply, shown, isOpen }: PromptProps) {
  const session = useSession();
  return (
    <tbody>
      <tr>
        <th scope="row">
          <button
            type="button"
            class={style["prompt"]}
            aria-expanded={isOpen}
            title="Its samples side by side"
            onClick={() => setOptions(session, { same: isOpen ? "" : one.name }, "push")}
          >
            {one.prompt.trim() === "" ? <span class="quiet">(empty prompt)</span> : <Text text={one.prompt} />}
          </button>
        </th>
        {shown.map(({ id }) => {
          const at = reply.runs.indexOf(id);
          const samples = one.samples[at] ?? 0;
          const discarded = one.discarded[at] ?? 0;
          return (
            <td key={id}>
              {samples === 0 ? (
                <span class="quiet">–</span>
              ) : (
                <>
                  <Score value={one.reward_mean[at] ?? null} />{" "}
                  <small class="quiet">
                    {count(samples, "sample")}
                    {discarded > 0 && `, ${figure(discarded)} discarded`}
                  </small>
                </>
              )}
            </td>
          );
        })}
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={shown.length + 1} class={style["opened"]}>
            <PromptAnswers
              prompt={one}
              at={{ split: reply.split, step: reply.step }}
              runs={shown.filter(({ id }) => (one.samples[reply.runs.indexOf(id)] ?? 0) > 0)}
            />
          </td>
        </tr>
      )}
    </tbody>
  );
}
