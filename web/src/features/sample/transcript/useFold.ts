/** Whether a section is open: by itself, or with all others. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

function isIn(wish: { span: { at: string } } | null, at: string): boolean {
  return wish !== null && (wish.span.at === at || wish.span.at.startsWith(`${at}.`));
}

/** Whether a section is open, and the way to open it. `at` names what is in it: a place that is gone to opens it. */
export function useFold(isUsuallyOpen: boolean, at: string): [boolean, (isOpen: boolean) => void] {
  const session = useSession();
  const { round, isOpen: all } = session.folds.command.value;
  // Of thousands of sections only those that a wish is about are looked at again.
  const wish = useComputed(() =>
    isIn(session.highlights.target.value, at) ? session.highlights.target.value : null,
  ).value;
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
