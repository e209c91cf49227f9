/** Verbatim text of any length in text nodes: what is long in boxes that are laid out as they come near, what turns writing around in one of its own. */

import { useMemo } from "preact/hooks";
import { leaks } from "../lib/bidi";
import { chunks, lines, WHOLE_CHARS } from "../lib/chunks";
import style from "./Divided.module.css";

const LINE_CHARS = 100;
const LINE_PX = 24;
/** So many boxes stand in one of their own: to lay out thousands of empty ones is work, too. */
const TOGETHER = 50;

/** True for most texts: a text node is all they need. */
export const isPlain = (text: string): boolean => text.length <= WHOLE_CHARS && !leaks(text);

export function Divided({ text }: { text: string }) {
  const pieces = useMemo(() => (text.length > WHOLE_CHARS ? chunks(text) : null), [text]);
  if (isPlain(text)) return <>{text}</>;
  if (pieces === null) return <span class={style["own"]}>{text}</span>;
  return <Pieces pieces={pieces} />;
}

function Pieces({ pieces }: { pieces: readonly string[] }) {
  if (pieces.length <= TOGETHER) {
    // The pieces of a text never change their order: their place is their identity.
    // oxlint-disable-next-line react/no-array-index-key
    return <>{pieces.map((piece, i) => <span key={i} class={style["piece"]} style={high(rows(piece))}>{piece}</span>)}</>;
  }
  const boxes = Array.from({ length: Math.ceil(pieces.length / TOGETHER) }, (_, i) => pieces.slice(i * TOGETHER, (i + 1) * TOGETHER));
  return (
    <>
      {boxes.map((held, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- as above
        <span key={i} class={style["piece"]} style={high(held.reduce((sum, piece) => sum + rows(piece), 0))}><Pieces pieces={held} /></span>
      ))}
    </>
  );
}

const rows = (text: string): number => lines(text, LINE_CHARS);
const high = (count: number) => ({ containIntrinsicBlockSize: `auto ${count * LINE_PX}px` });
