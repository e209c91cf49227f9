/** The update: what a training step does to the tokens of the sample, under the run's rule or chosen rules. */

import { computed } from "@preact/signals";
import { type AskedRule, getUpdate } from "../../api";
import type { TokenUpdate } from "../../api/tokens";
import type { UpdateRuleInfo } from "../../api/types.gen";
import { editable, knownRules, type RuleChoice, withRule, withThreshold } from "../../lib/tokens/choices";
import { sorted, type TokenScale, updateScale } from "../../lib/tokens/scale";
import type { Series } from "../../lib/tokens/sample/tokenSample";
import { promptAfter } from "../browser/textOptions";
import { chooseTokens } from "../browser/tokenView";
import { AnswersStore, type Asked } from "./answers";

/** A rule with the reader's thresholds. */
export interface ChosenUpdate {
  rule: UpdateRuleInfo;
  thresholds: Readonly<Record<string, number>>;
  /** The weight of the KL penalty; null if the record lacks its inputs. */
  klWeight: number | null;
  /** True if the reader moved a threshold. */
  isMoved: boolean;
}

/** The name of the weight, among the names of thresholds. */
export const KL_WEIGHT = "kl";

export const askedRule = ({ rule: { name }, thresholds, klWeight }: ChosenUpdate): AskedRule => ({
  name,
  thresholds,
  klWeight: klWeight ?? 0,
});

/** The rule of a run that names none: the recorded flags, if there are any. */
const USUAL = ["recorded", "ppo"];

export class TokenUpdateStore extends AnswersStore<TokenUpdate> {
  readonly rules = computed(() => this.session.tokens.now.value?.updates ?? []);

  readonly #hasReference = computed(() => (this.session.tokens.now.value?.named("ref_logprobs") ?? null) !== null);

  readonly #choices = computed<readonly RuleChoice[]>(() => {
    const rules = this.rules.value;
    const usual =
      rules.find((one) => one.is_of_run) ??
      USUAL.flatMap((name) => rules.find((one) => one.name === name) ?? [])[0] ??
      rules[0];
    const known = knownRules(this.session.place.field.rules.value, usual?.name, (name) =>
      rules.some((one) => one.name === name),
    );
    // An update always needs a rule.
    return known.length > 0 ? known : knownRules(null, usual?.name, () => false);
  });

  /** The shown rules, at most two: the second is compared with the first. */
  readonly chosen = computed<readonly ChosenUpdate[]>(() =>
    this.#choices.value.flatMap(({ name, thresholds: moved }) => {
      const rule = this.rules.value.find((one) => one.name === name);
      if (rule === undefined) return [];
      const known = Object.entries(moved).filter(([threshold]) => Object.hasOwn(rule.thresholds, threshold));
      const thresholds = { ...rule.thresholds, ...Object.fromEntries(known) };
      const klWeight = this.#hasReference.value ? (moved[KL_WEIGHT] ?? rule.kl_weight) : null;
      return [
        { rule, thresholds, klWeight, isMoved: known.length > 0 || (klWeight ?? rule.kl_weight) !== rule.kl_weight },
      ];
    }),
  );

  /** True while the page shows what the step does. */
  readonly isShown = computed(
    () => this.session.place.now.value.tokensAs === "update" && this.session.tokens.isWanted.value,
  );

  protected readonly asked = computed<readonly Asked<TokenUpdate>[]>(() => {
    const reply = this.session.sample.now.value;
    const after = promptAfter.value || undefined;
    if (!this.isShown.value || reply === null) return [];
    const { run, id } = reply;
    return this.chosen.value.map(askedRule).map((rule) => ({
      subject: JSON.stringify([run, id, after, rule.name]),
      key: JSON.stringify([run, id, after, rule]),
      ask: (signal) => getUpdate(run, id, rule, after, signal),
    }));
  });

  /** What the first rule does. */
  readonly first = computed(() => this.now.value[0] ?? null);

  /** The same as a series. */
  readonly series = computed<Series | null>(() => {
    const [update, rule] = [this.first.value, this.chosen.value[0]?.rule];
    if (update === null || rule === undefined) return null;
    const { title, about } = rule;
    const values = update.coefficients;
    return { name: "update", title: `Update by ${title}`, about, origin: "derived", scale: "symmetric", values };
  });

  /** The scale of its values, around zero. */
  readonly scale = computed<TokenScale | null>(() => {
    const update = this.first.value;
    if (update === null) return null;
    const ordered = sorted(update.coefficients, (token) => (update.effects[token] ?? 0) !== 0);
    return updateScale(ordered);
  });

  /** Choose the first or the second rule, or none. */
  choose(place: number, name: string): void {
    const rules = withRule(this.#editable(), place, name);
    chooseTokens({ rules: rules.map((one) => one.name) });
    this.session.place.go({ rules }, "replace");
  }

  move({ rule }: ChosenUpdate, threshold: string, value: number): void {
    const usual = threshold === KL_WEIGHT ? rule.kl_weight : rule.thresholds[threshold];
    const moved = value === usual ? null : value;
    this.session.place.go({ rules: withThreshold(this.#editable(), rule.name, threshold, moved) }, "late");
  }

  #editable(): readonly RuleChoice[] {
    return editable(this.session.place.now.peek().rules, this.#choices.peek());
  }
}
