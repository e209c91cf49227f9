/** Folding: each section by itself, and all at once. */

import { computed, effect, signal, useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { target } from "../../state/highlights";
import { sample } from "../../state/sample";

/** The last word to all sections; `round` 0: none was given, each is as it usually is. */
const command = signal({ round: 0, isOpen: true });

/** What `turnFolds` will do: expand all; where that was said last, collapse all. */
export const willExpand = computed(() => command.value.round === 0 || !command.value.isOpen);

export function turnFolds(): void {
  command.value = { round: command.peek().round + 1, isOpen: willExpand.peek() };
}

/** Another sample begins as it usually is. */
export function startFolds(): void {
  let shown = "";
  effect(() => {
    const now = sample.value === null ? "" : `${sample.value.run}\n${sample.value.id}`;
    if (now === shown) return; // the same sample, loaded again: what the reader opened stays open
    shown = now;
    command.value = { round: 0, isOpen: true };
    target.value = null;
  });
}

function isIn(wish: { span: { at: string } } | null, at: string): boolean {
  return wish !== null && (wish.span.at === at || wish.span.at.startsWith(`${at}.`));
}

/** Whether a section is open, and the way to open it. `at` names what is in it: a place that is gone to opens it. */
export function useFold(isUsuallyOpen: boolean, at: string): [boolean, (isOpen: boolean) => void] {
  const { round, isOpen: all } = command.value;
  // Of thousands of sections only those that a wish is about are looked at again.
  const wish = useComputed(() => (isIn(target.value, at) ? target.value : null)).value;
  const isWished = wish !== null;
  const [isOpen, open] = useState(isWished || (round === 0 ? isUsuallyOpen : all));
  useEffect(() => {
    if (isWished) open(true);
    // A new wish opens again what was folded since.
  }, [wish, isWished]);
  const heard = useRef(round);
  useEffect(() => {
    if (round === heard.current) return;
    heard.current = round;
    open(round === 0 ? isUsuallyOpen : all);
  }, [round, all, isUsuallyOpen]);
  return [isOpen, open];
}
