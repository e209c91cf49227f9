/**
 * Draws long content in blocks: the browser lays them out as they come near, and many blocks are added frame by frame.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { lines } from "../../../lib/text/chunks";
import style from "./Pieces.module.css";

const LINE_CHARS = 45;
const LINE_PX = 24;

/** A block with an estimated height until it is laid out. */
export function Block({ chars, children }: { chars: string; children: ComponentChildren }) {
  return (
    <div class={style["block"]} style={{ containIntrinsicBlockSize: `auto ${lines(chars, LINE_CHARS) * LINE_PX}px` }}>
      {children}
    </div>
  );
}

interface Props<T> {
  items: readonly T[];
  by: number;
  renderItem: (item: T, place: number) => ComponentChildren;
}

/** Draw some items at once, and as many more in each frame. */
export function Gradual<T>({ items, by, renderItem }: Props<T>) {
  const [state, setState] = useState({ items, shown: by });
  const shown = state.items === items ? state.shown : by;
  useEffect(() => {
    if (shown >= items.length) return undefined;
    const frame = requestAnimationFrame(() => setState({ items, shown: shown + by }));
    return () => cancelAnimationFrame(frame);
  }, [shown, items, by]);
  return <>{items.slice(0, shown).map(renderItem)}</>;
}
