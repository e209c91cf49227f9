/** Folded content that the browser's own find can still find, if it supports that: a match unfolds it. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  isHidden: boolean;
  /** Called when the browser finds something inside. */
  onFound: () => void;
  children: ComponentChildren;
}

export function Hidden({ isHidden, onFound, children }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const callback = useRef(onFound);
  callback.current = onFound;
  useLayoutEffect(() => {
    if (isHidden) root.current?.setAttribute("hidden", "until-found");
    else root.current?.removeAttribute("hidden");
  }, [isHidden]);
  useEffect(() => {
    const element = root.current;
    const hear = (): void => callback.current();
    element?.addEventListener("beforematch", hear);
    return () => element?.removeEventListener("beforematch", hear);
  }, []);
  return <div ref={root}>{children}</div>;
}
