/** Which rule says what the step does to the tokens, what it comes to, and a second rule to compare with. */

import type { UpdatePush, WireNumber } from "../../../api/types.gen";
import type { TokenUpdate } from "../../../api/tokens";
import { figure, toNumber } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { inColumn } from "../../../lib/tokens/readable";
import type { ChosenUpdate } from "../../../state/tokens/update";
import { useSession } from "../../../state/useSession";
import { Missing } from "../../../ui/layout/EmptyState";
import { NumberField } from "../controls/NumberField";
import { percent } from "../controls/percent";
import control from "../controls/Controls.module.css";
import style from "./Update.module.css";

/** Rows of a table of shares. */
const MOST = 12;
const MOMENT = "A reading of the recorded numbers at one moment: the first minibatch of the step";

export function UpdateControls() {
  const { tokenUpdate: update } = useSession();
  const [first, second] = update.chosen.value;
  const [found, other] = update.now.value;
  return (
    <div class={control["group"]} role="group" aria-label="What the step does">
      <RuleField place={0} label="Rule" chosen={first} />
      <p class={style["legend"]}>
        <i class={style["down"]} /> pushed down <i class={style["up"]} /> pushed up <i class={style["out"]} /> taken out
      </p>
      <Sums found={found ?? null} />
      <RuleField place={1} label="compare with" chosen={second} />
      {second !== undefined && (
        <p class={style["legend"]}>
          <i class={style["differs"]} /> differs
        </p>
      )}
      {second !== undefined && <Sums found={other ?? null} />}
      {first !== undefined && (
        <p class="quiet" title={MOMENT}>
          {harmless(first.rule.title)}: {harmless(first.rule.about)}.{" "}
          {first.rule.is_of_run
            ? `The run was trained with it (${harmless(first.rule.read_from)}).`
            : "The run's configuration does not name it."}
        </p>
      )}
      {update.error.value !== null && <Missing error={update.error.value} again={update.again} />}
      {found !== undefined && found !== null && <Shares found={found} />}
    </div>
  );
}

function RuleField({ place, label, chosen }: { place: number; label: string; chosen: ChosenUpdate | undefined }) {
  const { tokenUpdate: update } = useSession();
  const other = update.chosen.value[1 - place]?.rule.name;
  return (
    <>
      <label>
        {label}{" "}
        <select
          class="field"
          value={chosen?.rule.name ?? ""}
          onChange={({ currentTarget: { value } }) => update.choose(place, value)}
        >
          {place === 1 && <option value="">no other</option>}
          {update.rules.value
            .filter(({ name }) => name !== other)
            .map(({ name, title, about, is_of_run }) => (
              <option key={name} value={name} title={harmless(about)}>
                {harmless(title)}
                {is_of_run ? " (the run's)" : ""}
              </option>
            ))}
        </select>
      </label>
      {chosen !== undefined &&
        Object.entries(chosen.thresholds).map(([name, value]) => (
          <label key={name}>
            {harmless(name)}{" "}
            <NumberField
              label={`${chosen.rule.title}: ${name}`}
              value={value}
              step={0.01}
              choose={(next) => update.move(chosen, name, next)}
            />
          </label>
        ))}
    </>
  );
}

/** What the update comes to, as shares of all that pushes. */
function Sums({ found }: { found: TokenUpdate | null }) {
  if (found === null) return <p class={style["sums"]}>…</p>;
  const { up, down, lost, taken_out: out, tokens } = found.sums.whole;
  const pushed = valueOf(up) + valueOf(down);
  return (
    <p class={style["sums"]} role="status">
      up {percent(valueOf(up) / pushed)} · down {percent(valueOf(down) / pushed)} · taken out {figure(out)} of{" "}
      {figure(tokens)} tokens, with {percent(valueOf(lost) / (pushed + valueOf(lost)))} of the update
    </p>
  );
}

function Shares({ found: { sums } }: { found: TokenUpdate }) {
  const pushed = sizeOf(sums.whole);
  return (
    <details class={style["shares"]}>
      <summary>Shares by role and token</summary>
      <div>
        <Table title="role" rows={sums.by_role} pushed={pushed} />
        <Table title="token" rows={sums.by_string} pushed={pushed} />
      </div>
    </details>
  );
}

function Table({ title, rows, pushed }: { title: string; rows: readonly UpdatePush[]; pushed: number }) {
  return (
    <table>
      <thead>
        <tr>
          <th>{title}</th>
          <th>tokens</th>
          <th>up</th>
          <th>down</th>
          <th>taken out</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MOST).map((row) => (
          <tr key={row.name}>
            <td>{row.name === "" ? "–" : inColumn(row.name)}</td>
            <td>{figure(row.tokens)}</td>
            <td>{percent(valueOf(row.up) / pushed)}</td>
            <td>{percent(valueOf(row.down) / pushed)}</td>
            <td>{figure(row.taken_out)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const valueOf = (value: WireNumber): number => toNumber(value) ?? NaN;
const sizeOf = ({ up, down }: UpdatePush): number => valueOf(up) + valueOf(down);
