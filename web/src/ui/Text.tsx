/** Text of any length, verbatim, in text nodes: what is very long is laid out piece by piece as it is scrolled to. */

import { useMemo } from "preact/hooks";
import { chunks, lines, WHOLE_CHARS } from "../lib/chunks";
import style from "./Text.module.css";

const LINE_CHARS = 100;
const LINE_PX = 24;

export function Text({ text }: { text: string }) {
  const pieces = useMemo(() => (text.length > WHOLE_CHARS ? chunks(text) : null), [text]);
  if (pieces === null) return <>{text}</>;
  return (
    <>
      {pieces.map((piece, i) => (
        // The pieces of a text never change their order: their place is their identity.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={i} class={style["piece"]} style={{ containIntrinsicBlockSize: `auto ${lines(piece, LINE_CHARS) * LINE_PX}px` }}>
          {piece}
        </div>
      ))}
    </>
  );
}
