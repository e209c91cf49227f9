/** The rule of the update, its totals, and a second rule to compare with. */

import { isAlone } from "../../../api";
import type { TokenUpdate } from "../../../api/tokens";
import { harmless } from "../../../lib/text/invisible";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { momentOf } from "../../../lib/tokens/moment";
import { omittedPenalty } from "../../../lib/tokens/penalty";
import { shareOf } from "../../../lib/tokens/shares";
import { figure } from "../../../lib/numbers/numbers";
import { type ChosenUpdate, KL_WEIGHT } from "../../../state/tokens/update";
import { useSession } from "../../../state/useSession";
import { Icon } from "../../../ui/controls/Icon";
import { Missing } from "../../../ui/layout/EmptyState";
import { Popover } from "../../../ui/overlay/Popover";
import { percent } from "../../../lib/numbers/percent";
import { ofRun } from "../controls/ofRun";
import { Threshold } from "../controls/Threshold";
import control from "../controls/Controls.module.css";
import { UpdateLegend } from "./UpdateLegend";
import style from "./Update.module.css";

export function UpdateControls({ tokens }: { tokens: TokenSample }) {
  const { tokenUpdate: update } = useSession();
  const [first, second] = update.chosen.value;
  const [found, other] = update.now.value;
  if (first === undefined)
    return <p class="quiet">The update needs log-probabilities and an advantage; this sample lacks one of them.</p>;
  return (
    <div class={control["group"]} role="group" aria-label="What the step does">
      <RuleField place={0} label="Rule" chosen={first} />
      <Sums found={found ?? null} />
      {update.rules.value.length > 1 && <RuleField place={1} label="Compare with" chosen={second} />}
      {second !== undefined && <Sums found={other ?? null} />}
      <Popover
        label="Thresholds:"
        title="Thresholds of the rules, and the definition of the update"
        buttonClass="action"
        button={
          <>
            {(second === undefined && wordsOf(first)) || "thresholds"} <Icon sign="down" size={14} />
          </>
        }
      >
        {() => (
          <div class={control["menu"]}>
            {update.chosen.value.map((chosen) => (
              <Thresholds key={chosen.rule.name} chosen={chosen} />
            ))}
            <About tokens={tokens} first={first} />
          </div>
        )}
      </Popover>
      <UpdateLegend tokens={tokens} />
      <p class={style["omitted"]}>{omittedPenalty(first.rule, first.klWeight)}</p>
      {update.error.value !== null && <Missing error={update.error.value} again={update.again} />}
    </div>
  );
}

/** The thresholds of a rule on one line, without those that are 0, such as the weight of a penalty. */
function wordsOf({ thresholds, klWeight }: ChosenUpdate): string {
  const all = [...Object.entries(thresholds), ...(klWeight ? [["KL", klWeight] as const] : [])];
  return all.map(([name, value]) => `${harmless(name)} ${Number(value.toPrecision(4))}`).join(", ");
}

/** The definition of the rule, its origin, and the inputs that it reads. */
function About({ tokens, first }: { tokens: TokenSample; first: ChosenUpdate }) {
  const { tokenUpdate: update } = useSession();
  return (
    <p class="quiet">
      {harmless(first.rule.title)}: {harmless(first.rule.about)}.{" "}
      {first.rule.is_of_run
        ? `The run was trained with it (${harmless(first.rule.read_from)}).`
        : "The run's configuration does not name this rule."}{" "}
      {momentOf(new Set(tokens.series.map(({ name }) => name)))}
      {isAlone() && ` This report holds ${ofRules(update.rules.value.length)} with these thresholds only.`}
    </p>
  );
}

function RuleField({ place, label, chosen }: { place: number; label: string; chosen: ChosenUpdate | undefined }) {
  const { tokenUpdate: update } = useSession();
  const other = update.chosen.value[1 - place]?.rule.name;
  return (
    <label>
      <span class={control["label"]}>{label} </span>
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
              {is_of_run ? ofRun(name === chosen?.rule.name && chosen.isMoved) : ""}
            </option>
          ))}
      </select>
    </label>
  );
}

function Thresholds({ chosen }: { chosen: ChosenUpdate }) {
  const { tokenUpdate: update } = useSession();
  const { rule, thresholds, klWeight } = chosen;
  const all = Object.entries(thresholds).map(([name, value]) => ({
    name,
    key: name,
    value,
    usual: rule.thresholds[name] ?? value,
  }));
  if (klWeight !== null) all.push({ name: "KL penalty", key: KL_WEIGHT, value: klWeight, usual: rule.kl_weight });
  if (isAlone())
    return (
      <span class="quiet">
        {harmless(rule.title)}:{" "}
        {all.map(({ name, value }) => `${harmless(name)} ${Number(value.toPrecision(4))}`).join(", ")}
      </span>
    );
  return (
    <>
      <b>{harmless(rule.title)}</b>
      {all.map(({ name, key, value, usual }) => (
        <Threshold
          key={key}
          rule={rule.title}
          name={name}
          value={value}
          usual={usual}
          choose={(next) => update.move(chosen, key, next)}
        />
      ))}
    </>
  );
}

const ofRules = (many: number): string => (many === 1 ? "this rule" : `${many} rules`);

/** The totals of the sample's update, for screen readers; the aside shows them. */
function Sums({ found }: { found: TokenUpdate | null }) {
  if (found === null) return null;
  const { up, down, lost, takenOut, tokens } = shareOf(found.sums.whole, found.sums.whole);
  return (
    <p class="hidden" role="status">
      up {percent(up)} · down {percent(down)} · masked or clipped {figure(takenOut)} of {figure(tokens)} tokens,{" "}
      {percent(lost)} of the update
    </p>
  );
}
