/** Whether a section is unfolded: on its own, or with all others. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

function isIn(wish: { span: { at: string } } | null, at: string): boolean {
  return wish !== null && (wish.span.at === at || wish.span.at.startsWith(`${at}.`));
}

/**
 * Whether a section is unfolded, and a function to unfold it. `at` names its content: going to a place in it unfolds
 * it.
 */
export function useFold(isUsuallyOpen: boolean, at: string): [boolean, (isOpen: boolean) => void] {
  const session = useSession();
  const { round, isOpen: all } = session.folds.command.value;
  // A request redraws only the sections that it concerns, of perhaps thousands.
  const wish = useComputed(() =>
    isIn(session.highlights.target.value, at) ? session.highlights.target.value : null,
  ).value;
  const isWished = wish !== null;
  const [isOpen, open] = useState(isWished || (round === 0 ? isUsuallyOpen : all));
  useEffect(() => {
    if (isWished) open(true);
    // A new request unfolds a section that was folded since.
  }, [wish, isWished]);
  const heard = useRef(round);
  useEffect(() => {
    if (round === heard.current) return;
    heard.current = round;
    open(round === 0 ? isUsuallyOpen : all);
  }, [round, all, isUsuallyOpen]);
  return [isOpen, open];
}
