/** Beside the tokens: what the step does to the sample, its group or the whole step, under one rule or two. */

import { isAlone } from "../../../api";
import type { UpdatePush, UpdateReply } from "../../../api/types.gen";
import { scopeOf } from "../../../lib/address/address";
import { decoded } from "../../../lib/address/decoded";
import { groupOf } from "../../../lib/address/groupAddress";
import type { UpdateOf, UpdateWeights } from "../../../lib/address/tokensAddress";
import { count, figure, score } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { shareOf, shareRows, type Share } from "../../../lib/tokens/shares";
import { inColumn } from "../../../lib/tokens/sample/readable";
import type { ChosenUpdate } from "../../../state/tokens/update";
import { useSession } from "../../../state/useSession";
import { Segments } from "../../../ui/controls/Segments";
import { Missing } from "../../../ui/layout/EmptyState";
import { ofRun } from "../controls/ofRun";
import { nameOfSample } from "../../../lib/sample/name";
import { percent } from "../../../lib/numbers/percent";
import { Differences } from "./Differences";
import { Heads, type Named, ShareTable } from "./ShareTable";
import style from "./Update.module.css";

const SCOPES: readonly { value: UpdateOf; label: string; title: string }[] = [
  { value: "sample", label: "sample", title: "Of this sample" },
  { value: "group", label: "group", title: "Of all samples of the group" },
  { value: "step", label: "step", title: "Of all samples of the step" },
];
const WEIGHTS: readonly { value: UpdateWeights; words: string }[] = [
  { value: "token_mean", words: "tokens equally" },
  { value: "sequence_mean", words: "samples equally" },
];

const EFFECTIVE = "Effective sample size, from the importance ratios of the sequences";

/** The answer about a sample has no samples and groups of its own. */
type Sums = Pick<UpdateReply, "whole" | "by_role" | "by_string" | "by_position"> & Partial<UpdateReply>;

export function UpdateAside() {
  const { tokenUpdate: update, tokenShares: shares, place } = useSession();
  const [of, rules] = [place.field.updateOf.value, update.chosen.value];
  if (rules.length === 0) return null;
  const found: readonly (Sums | null)[] =
    of === "sample" ? update.now.value.map((one) => one?.sums ?? null) : shares.now.value;
  const isThere = found.some((sums) => sums !== null);
  const error = of === "sample" ? null : shares.error.value;
  return (
    <>
      <section aria-labelledby="update-sums" aria-busy={!isThere && error === null}>
        <h2 id="update-sums">
          The update <small>of this {of}</small>
        </h2>
        {!isAlone() && (
          <Segments label="Update of" options={SCOPES} value={of} choose={(updateOf) => place.go({ updateOf })} />
        )}
        {of !== "sample" && <Weights />}
        {error !== null && <Missing error={error} again={shares.again} />}
        {isThere && <Summary rules={rules} found={found} />}
        {!isThere && error === null && (
          <p class="quiet" role="status">
            {of === "sample" ? "Loading …" : `Reading the samples of this ${of} …`}
          </p>
        )}
        {of !== "sample" && <Coverage found={found} />}
      </section>
      {isThere && <Tables rules={rules} found={found} />}
    </>
  );
}

function Weights() {
  const { tokenShares: shares, place } = useSession();
  return (
    <label class={style["weights"]}>
      Weight:{" "}
      <select
        class="field"
        value={shares.weights.value}
        onChange={({ currentTarget: { value } }) =>
          place.go({ updateWeights: WEIGHTS.find((one) => one.value === value)?.value ?? null }, "replace")
        }
      >
        {WEIGHTS.map(({ value, words }) => (
          <option key={value} value={value}>
            {words}
            {value === shares.ofRun.value ? ofRun(false) : ""}
          </option>
        ))}
      </select>
    </label>
  );
}

interface Props {
  rules: readonly ChosenUpdate[];
  found: readonly (Sums | null)[];
}

const WHOLE = "A share of the update: of all that is pushed up, pushed down and lost";

const ROWS: readonly { name: string; title: string; words: (share: Share) => string }[] = [
  { name: "pushed up", title: WHOLE, words: ({ up }) => percent(up) },
  { name: "pushed down", title: WHOLE, words: ({ down }) => percent(down) },
  {
    name: "lost",
    title: `The update that masked or clipped tokens would have added. ${WHOLE}`,
    words: ({ lost }) => percent(lost),
  },
  { name: "trained tokens", title: "The tokens under the loss mask", words: ({ tokens }) => figure(tokens) },
  {
    name: "masked or clipped",
    title: "Tokens that the rule masks or clips, as a share of the trained tokens",
    words: ({ takenOut, tokens }) => some(takenOut, tokens),
  },
  {
    name: "advantage 0",
    title: "The tokens whose advantage is 0: the step does nothing to them",
    words: ({ unmoved, tokens }) => some(unmoved, tokens),
  },
];

const UNCOUNTED = {
  name: "not counted",
  title: "The tokens whose coefficient is unknown, infinite or too large for a sum: the sums leave them out",
  words: ({ uncounted, tokens }: Share): string => some(uncounted, tokens),
};

/** A number of tokens, and their share of all. */
const some = (many: number, all: number): string => (many === 0 ? "0" : `${figure(many)} · ${percent(many / all)}`);

function Summary({ rules, found }: Props) {
  const shares = found.map((sums) => (sums === null ? null : shareOf(sums.whole, sums.whole)));
  const rows = shares.some((share) => share !== null && share.uncounted > 0) ? [...ROWS, UNCOUNTED] : ROWS;
  return (
    <table class={style["summary"]}>
      <thead>
        <Heads first="rule" rules={rules} />
      </thead>
      <tbody>
        {rows.map(({ name, title, words }) => (
          <tr key={name}>
            <th scope="row" title={title}>
              {name}
            </th>
            {rules.map(({ rule }, place) => {
              const share = shares[place] ?? null;
              return <td key={rule.name}>{share === null ? "…" : words(share)}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The number of samples in the sums, and why others are left out. */
function Coverage({ found }: { found: readonly (Sums | null)[] }) {
  const sums = found.find((one) => one !== null);
  if (sums?.samples === undefined) return null;
  return (
    <>
      <p class="quiet" title={EFFECTIVE}>
        {`Over ${count(sums.samples, "sample")}.`}
        {(sums.effective_samples ?? null) !== null && ` Effective sample size: ${score(sums.effective_samples)}.`}
      </p>
      {Object.entries(sums.left_out ?? {}).map(([reason, many]) => (
        <p key={reason} class="quiet">
          {count(many, "sample")} left out: {harmless(reason)}.
        </p>
      ))}
    </>
  );
}

function Tables({ rules, found }: Props) {
  const { place } = useSession();
  const here = place.field.sample.value ?? "";
  const rowsOf = (by: (sums: Sums) => readonly UpdatePush[] | undefined) =>
    shareRows(found.map((sums) => (sums === null ? null : { whole: sums.whole, by: by(sums) ?? [] })));
  const [samples, groups] = [rowsOf(({ by_sample: by }) => by), rowsOf(({ by_group: by }) => by)];
  const sample = (id: string): Named => ({
    words: nameOfSample(id),
    title: `${id}: its tokens`,
    to: { ...scopeOf(id), sample: id },
    isHere: id === here,
  });
  // A group opens at the sample that the step pushes most.
  const group = (name: string): Named => {
    const first = samples.find((row) => lastPart(groupOf(row.name)) === name)?.name;
    return {
      words: name,
      title: `${name}: the update of the group`,
      to: first === undefined ? null : { ...scopeOf(first), sample: first, updateOf: "group" },
      isHere: first !== undefined && groupOf(first) === groupOf(here),
    };
  };
  const { samples: total = 0, unnamed = 0 } = found.find((sums) => sums !== null) ?? {};
  const { differing, differing_samples: differ = 0 } = found[0] ?? {};
  return (
    <>
      {rules.length > 1 && differing !== undefined && (
        <Differences rows={differing} rules={rules} many={differ} total={total} />
      )}
      {groups.length > 1 && <ShareTable title="group" rows={groups} rules={rules} nameOf={group} />}
      {samples.length > 0 && (
        <ShareTable title="sample" rows={samples} rules={rules} nameOf={sample}>
          {samples.length < total && <p class="quiet">The {figure(samples.length)} samples with the largest shares.</p>}
        </ShareTable>
      )}
      <ShareTable
        title="role"
        rows={rowsOf(({ by_role: by }) => by)}
        rules={rules}
        nameOf={(words) => ({ words: words || "not recorded" })}
      />
      <ShareTable
        title="position"
        rows={rowsOf(({ by_position: by }) => by)}
        rules={rules}
        nameOf={(words) => ({ words, title: `${words}: the number of trained tokens before it in the sample` })}
      />
      <ShareTable
        title="token"
        rows={rowsOf(({ by_string: by }) => by)}
        rules={rules}
        nameOf={(text) => ({ words: inColumn(text) || "no text", isCode: true })}
      >
        {unnamed > 0 && (
          <p class="quiet">
            Without {count(unnamed, "token")}: the samples have more different tokens than can be compared.
          </p>
        )}
      </ShareTable>
    </>
  );
}

/** The last part of the id of a sample or group as the framework wrote it. */
const lastPart = (id: string): string => decoded(id.slice(id.lastIndexOf("/") + 1));
