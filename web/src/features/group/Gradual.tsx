/** What is long stands in blocks, which a browser lays out as they come near, and many blocks come frame by frame. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { chunks, lines } from "../../lib/chunks";
import { Text } from "../../ui/Text";
import style from "./Pieces.module.css";

/** Characters in one block. */
const BLOCK_CHARS = 8000;
const LINE_CHARS = 45;
const LINE_PX = 24;

/** Verbatim text of any length. */
export function Long({ text }: { text: string }) {
  const [first = "", ...rest] = useMemo(() => chunks(text, BLOCK_CHARS), [text]);
  return (
    <>
      <Text text={first} />
      {/* oxlint-disable-next-line react/no-array-index-key -- the parts of a text never change their order */}
      {rest.map((part, i) => <Block key={i} chars={part}><Text text={part} /></Block>)}
    </>
  );
}

/** A block that is as high as its text may be until it is laid out. */
export function Block({ chars, children }: { chars: string; children: ComponentChildren }) {
  return <div class={style["block"]} style={{ containIntrinsicBlockSize: `auto ${lines(chars, LINE_CHARS) * LINE_PX}px` }}>{children}</div>;
}

interface Props<T> {
  items: readonly T[];
  by: number;
  renderItem: (item: T, place: number) => ComponentChildren;
}

/** So many things at once, and as many more in each frame. */
export function Gradual<T>({ items, by, renderItem }: Props<T>) {
  const [held, hold] = useState({ items, shown: by });
  const shown = held.items === items ? held.shown : by;
  useEffect(() => {
    if (shown >= items.length) return undefined;
    const frame = requestAnimationFrame(() => hold({ items, shown: shown + by }));
    return () => cancelAnimationFrame(frame);
  }, [shown, items, by]);
  return <>{items.slice(0, shown).map(renderItem)}</>;
}
