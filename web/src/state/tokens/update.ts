/** What a step of training does to the tokens of the sample, under the run's rule or chosen ones. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getUpdate } from "../../api";
import type { TokenUpdate } from "../../api/tokens";
import type { UpdateRuleInfo } from "../../api/types.gen";
import { promptAfter } from "../browser/textOptions";
import { asApiError } from "../browser/login";
import { Store } from "../store";

/** A rule with the reader's thresholds. */
export interface ChosenUpdate {
  rule: UpdateRuleInfo;
  thresholds: Readonly<Record<string, number>>;
}

interface Loaded {
  key: string;
  found: TokenUpdate | null;
  error: ApiError | null;
}

const MOST_RULES = 2;
/** The rule of a run that names none. */
const USUAL = "ppo";
/** A threshold is asked for when the reader pauses. */
const PAUSE_MS = 150;

export class TokenUpdateStore extends Store {
  /** The names that the reader chose; null for the run's own rule alone. */
  readonly #names = signal<readonly string[] | null>(null);

  /** The thresholds that the reader set, by `RULE.THRESHOLD`. */
  readonly #thresholds = signal<Readonly<Record<string, number>>>({});

  readonly #loaded = signal<readonly Loaded[]>([]);

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

  readonly isWanted = computed(
    () => this.session.place.now.value.tokensAs === "update" && this.session.tokens.isWanted.value,
  );

  /** What each chosen rule does; null until it is known. */
  readonly now = computed<readonly (TokenUpdate | null)[]>(() => this.#current.value.map((one) => one?.found ?? null));

  readonly error = computed(() => this.#current.value.find((one) => one !== null && one.error !== null)?.error ?? null);

  readonly #keys = computed(() => {
    const reply = this.session.sample.now.value;
    const after = promptAfter.value;
    return this.chosen.value.map((one) =>
      JSON.stringify([reply?.run, reply?.id, after, one.rule.name, one.thresholds]),
    );
  });

  readonly #current = computed(() =>
    this.#keys.value.map((key) => this.#loaded.value.find((one) => one.key === key) ?? null),
  );

  /** Take a rule as the first or the second one, or none. */
  choose(place: number, name: string): void {
    const names = this.chosen.peek().map(({ rule }) => rule.name);
    names[place] = name;
    this.#names.value = [...new Set(names)].filter((one) => one !== "").slice(0, MOST_RULES);
  }

  move({ rule }: ChosenUpdate, threshold: string, value: number): void {
    this.#thresholds.value = { ...this.#thresholds.peek(), [`${rule.name}.${threshold}`]: value };
  }

  readonly again = (): void => {
    this.#loaded.value = [];
  };

  start(): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.effect(() => {
      const keys = this.#keys.value;
      const known = this.#loaded.value;
      clearTimeout(timer);
      const missing = keys.filter((key) => !known.some((one) => one.key === key));
      if (!this.isWanted.value || missing.length === 0) return;
      timer = setTimeout(() => untracked(() => void this.#load(missing)), known.length === 0 ? 0 : PAUSE_MS);
    });
  }

  async #load(missing: readonly string[]): Promise<void> {
    const reply = this.session.sample.now.peek();
    if (reply === null) return;
    const keys = this.#keys.peek();
    const wanted = this.chosen.peek().filter((_, place) => missing.includes(keys[place] ?? ""));
    const after = promptAfter.peek() || undefined;
    const found = await Promise.all(
      wanted.map(async ({ rule, thresholds }, place): Promise<Loaded> => {
        const key = missing[place] ?? "";
        try {
          const asked = { name: rule.name, thresholds, klWeight: rule.kl_weight };
          return { key, found: await getUpdate(reply.run, reply.id, asked, after), error: null };
        } catch (error) {
          return { key, found: null, error: asApiError(error) };
        }
      }),
    );
    const current = this.#keys.peek();
    this.#loaded.value = [...this.#loaded.peek().filter((one) => current.includes(one.key)), ...found];
  }
}
