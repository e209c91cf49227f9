/** What a step of training does to the tokens of the sample, under the run's rule or chosen ones. */

import { computed, signal } from "@preact/signals";
import { getUpdate } from "../../api";
import type { TokenUpdate } from "../../api/tokens";
import type { UpdateRuleInfo } from "../../api/types.gen";
import { scaleOf, sorted, type TokenScale } from "../../lib/tokens/scale";
import type { Series } from "../../lib/tokens/sample/tokenSample";
import { promptAfter } from "../browser/textOptions";
import { AnswersStore, type Asked } from "./answers";

/** A rule with the reader's thresholds. */
export interface ChosenUpdate {
  rule: UpdateRuleInfo;
  thresholds: Readonly<Record<string, number>>;
}

const MOST_RULES = 2;
/** The rule of a run that names none. */
const USUAL = "ppo";

export class TokenUpdateStore extends AnswersStore<TokenUpdate> {
  /** The names that the reader chose; null for the run's own rule alone. */
  readonly #names = signal<readonly string[] | null>(null);

  /** The thresholds that the reader set, by `RULE.THRESHOLD`. */
  readonly #thresholds = signal<Readonly<Record<string, number>>>({});

  readonly rules = computed(() => this.session.tokens.now.value?.updates ?? []);

  /** The rules that are shown, at most two: the second is compared with the first. */
  readonly chosen = computed<readonly ChosenUpdate[]>(() => {
    const all = this.rules.value;
    const usual = all.find((one) => one.is_of_run || one.name === USUAL) ?? all[0];
    const names = this.#names.value ?? (usual === undefined ? [] : [usual.name]);
    const rules = names.flatMap((name) => all.find((one) => one.name === name) ?? []);
    return rules.map((rule) => ({
      rule,
      thresholds: Object.fromEntries(
        Object.entries(rule.thresholds).map(([name, own]) => [
          name,
          this.#thresholds.value[`${rule.name}.${name}`] ?? own,
        ]),
      ),
    }));
  });

  /** True while the page shows what the step does. */
  readonly isShown = computed(
    () => this.session.place.now.value.tokensAs === "update" && this.session.tokens.isWanted.value,
  );

  protected readonly asked = computed<readonly Asked<TokenUpdate>[]>(() => {
    const reply = this.session.sample.now.value;
    const after = promptAfter.value || undefined;
    if (!this.isShown.value || reply === null) return [];
    const { run, id } = reply;
    return this.chosen.value.map(({ rule, thresholds }) => ({
      subject: JSON.stringify([run, id, after, rule.name]),
      key: JSON.stringify([run, id, after, rule.name, thresholds]),
      ask: () => getUpdate(run, id, { name: rule.name, thresholds, klWeight: rule.kl_weight }, after),
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
    return scaleOf(ordered, { kind: "symmetric", ends: "clip", low: NaN, high: NaN }, false);
  });

  /** Take a rule as the first or the second one, or none. */
  choose(place: number, name: string): void {
    const names = this.chosen.peek().map(({ rule }) => rule.name);
    names[place] = name;
    this.#names.value = [...new Set(names)].filter((one) => one !== "").slice(0, MOST_RULES);
  }

  move({ rule }: ChosenUpdate, threshold: string, value: number): void {
    this.#thresholds.value = { ...this.#thresholds.peek(), [`${rule.name}.${threshold}`]: value };
  }
}
