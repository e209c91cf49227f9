/** The rules that mark tokens as taken out of the loss, as chosen by the reader, with the reader's thresholds. */

import { computed } from "@preact/signals";
import type { MaskRuleInfo } from "../../api/types.gen";
import {
  agreement,
  type Bound,
  boundsOf,
  countOf,
  recordedFlags,
  takenOut,
  type Threshold,
  thresholdsOf,
} from "../../lib/tokens/masks";
import type { TokenSample } from "../../lib/tokens/sample/tokenSample";
import { editable, knownRules, type RuleChoice, withRule, withThreshold } from "../../lib/tokens/choices";
import { chooseTokens } from "../browser/tokenView";
import { Store } from "../store";

/** The trainer's own flags, in place of a rule. */
const RECORDED = "recorded";
const RECORDED_SERIES = "is_masked";

/** A rule and the tokens that it takes out, computed on demand. */
export class Mask {
  #flags: Uint8Array | null = null;
  #count: number | null = null;

  constructor(
    readonly name: string,
    readonly title: string,
    /** Null for recorded flags. */
    readonly rule: MaskRuleInfo | null,
    readonly thresholds: readonly Threshold[],
    readonly bounds: readonly Bound[],
    readonly find: () => Uint8Array,
  ) {}

  /** True if the reader moved a threshold. */
  get isMoved(): boolean {
    return this.thresholds.some(isMoved);
  }

  get flags(): Uint8Array {
    this.#flags ??= this.find();
    return this.#flags;
  }

  get count(): number {
    this.#count ??= countOf(this.flags);
    return this.#count;
  }
}

export class TokenMasksStore extends Store {
  /** All rules of the sample, recorded flags first. */
  readonly all = computed<readonly Mask[]>(() => {
    const tokens = this.session.tokens.now.value;
    if (tokens === null) return [];
    const chosen = this.session.place.field.rules.value ?? [];
    const masks = tokens.rules.flatMap((rule) => {
      const moved = new Map(Object.entries(chosen.find(({ name }) => name === rule.name)?.thresholds ?? {}));
      return maskOf(tokens, rule, (name) => moved.get(name)) ?? [];
    });
    return [...recordedOf(tokens), ...masks];
  });

  /** The rules that mark tokens, at most two. Recorded flags win over a rule, and the run's own rule over others. */
  readonly chosen = computed<readonly Mask[]>(() =>
    this.#known.value.flatMap(({ name }) => this.all.value.find((one) => one.name === name) ?? []),
  );

  readonly #known = computed<readonly RuleChoice[]>(() => {
    const all = this.all.value;
    const usual = all.find(({ rule }) => rule === null || rule.is_of_run);
    return knownRules(this.session.place.field.rules.value, usual?.name, (name) =>
      all.some((one) => one.name === name),
    );
  });

  readonly trained = computed(() => countOf(this.session.tokens.now.value?.trained ?? new Uint8Array()));

  /** The agreement of a rule with the recorded flags; null without flags, and for the flags themselves. */
  withRecorded(mask: Mask): number | null {
    const recorded = this.all.value.find(({ rule }) => rule === null);
    return recorded === undefined || recorded === mask ? null : agreement(recorded.flags, mask.flags);
  }

  /** Choose the first or the second rule, or none. */
  choose(place: number, name: string): void {
    const rules = withRule(this.#choices(), place, name);
    chooseTokens({ rules: rules.map((one) => one.name) });
    this.session.place.go({ rules }, "replace");
  }

  move({ name, thresholds }: Mask, threshold: string, value: number): void {
    const isUsual = thresholds.some((one) => one.name === threshold && one.usual === value);
    this.session.place.go({ rules: withThreshold(this.#choices(), name, threshold, isUsual ? null : value) }, "late");
  }

  /** Restore the thresholds of the run, or of the paper. */
  reset({ name }: Mask): void {
    const rules = this.#choices().map((one) => (one.name === name ? { name, thresholds: {} } : one));
    this.session.place.go({ rules }, "replace");
  }

  /** The choice to change, which may hold rules of another form. */
  #choices(): readonly RuleChoice[] {
    return editable(this.session.place.now.peek().rules, this.#known.peek());
  }
}

const isMoved = ({ value, usual }: Threshold): boolean => value !== usual;

function recordedOf(tokens: TokenSample): Mask[] {
  const values = tokens.named(RECORDED_SERIES)?.values;
  if (values === undefined) return [];
  return [new Mask(RECORDED, "Recorded flags", null, [], [], () => recordedFlags(values, tokens.trained))];
}

function maskOf(tokens: TokenSample, rule: MaskRuleInfo, moved: (name: string) => number | undefined): Mask | null {
  const values = tokens.named(rule.series)?.values;
  if (values === undefined) return null;
  const thresholds = thresholdsOf(rule, moved);
  const bounds = boundsOf(rule, thresholds);
  const advantages = tokens.named("advantages")?.values ?? null;
  const find = (): Uint8Array => takenOut(bounds, values, advantages, tokens.trained);
  return new Mask(rule.name, rule.title, rule, thresholds, bounds, find);
}
