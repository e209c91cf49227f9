/** Folding: each section by itself, and all at once. */

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
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
  });
}

/** Whether a section is open, and the way to open it. */
export function useFold(isUsuallyOpen: boolean): [boolean, (isOpen: boolean) => void] {
  const { round, isOpen: all } = command.value;
  const [isOpen, open] = useState(round === 0 ? isUsuallyOpen : all);
  const heard = useRef(round);
  useEffect(() => {
    if (round === heard.current) return;
    heard.current = round;
    open(round === 0 ? isUsuallyOpen : all);
  }, [round, all, isUsuallyOpen]);
  return [isOpen, open];
}
