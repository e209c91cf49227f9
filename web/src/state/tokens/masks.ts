/** The rules that mark tokens as taken out of the loss: those that the reader chose, with the reader's thresholds. */

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
import { chooseTokens, MOST_RULES, tokenChoice } from "../browser/tokenView";
import { Store } from "../store";

/** The trainer's own flags, in the place of a rule. */
const RECORDED = "recorded";
const RECORDED_SERIES = "is_masked";

/** A rule and the tokens that it takes out, which are found when somebody asks. */
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
    const { thresholds } = tokenChoice.value;
    const masks = tokens.rules.flatMap(
      (rule) => maskOf(tokens, rule, (name) => thresholds[`${rule.name}.${name}`]) ?? [],
    );
    return [...recordedOf(tokens), ...masks];
  });

  /** The rules that mark tokens, at most two. Recorded flags win over a rule, and the run's own rule over others. */
  readonly chosen = computed<readonly Mask[]>(() => {
    const names = tokenChoice.value.rules;
    const all = this.all.value;
    if (names === null) {
      const usual = all.find(({ rule }) => rule === null || rule.is_of_run);
      return usual === undefined ? [] : [usual];
    }
    return names.flatMap((name) => all.find((one) => one.name === name) ?? []);
  });

  readonly trained = computed(() => countOf(this.session.tokens.now.value?.trained ?? new Uint8Array()));

  /** How far a rule agrees with the recorded flags; null without them, and for themselves. */
  withRecorded(mask: Mask): number | null {
    const recorded = this.all.value.find(({ rule }) => rule === null);
    return recorded === undefined || recorded === mask ? null : agreement(recorded.flags, mask.flags);
  }

  /** Take a rule as the first or second one, or none. */
  choose(place: number, name: string): void {
    const names = this.chosen.peek().map((one) => one.name);
    names[place] = name;
    chooseTokens({ rules: [...new Set(names)].filter((one) => one !== "").slice(0, MOST_RULES) });
  }

  move(mask: Mask, threshold: string, value: number): void {
    chooseTokens({ thresholds: { ...tokenChoice.peek().thresholds, [`${mask.name}.${threshold}`]: value } });
  }

  /** Take the thresholds of the run, or of the paper, again. */
  reset(mask: Mask): void {
    const others = Object.entries(tokenChoice.peek().thresholds).filter(([key]) => !key.startsWith(`${mask.name}.`));
    chooseTokens({ thresholds: Object.fromEntries(others) });
  }

  isMoved({ name, thresholds }: Mask): boolean {
    return thresholds.some((one) => tokenChoice.value.thresholds[`${name}.${one.name}`] !== undefined);
  }
}

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
