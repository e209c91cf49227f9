/**
 * Verbatim text of any length, in text nodes. Long text is divided into boxes that are laid out when they come near;
 * text that changes direction gets its own box.
 */

import { useMemo } from "preact/hooks";
import { leaks } from "../../lib/text/bidi";
import { chunks, lines, WHOLE_CHARS } from "../../lib/text/chunks";
import { cuts, type Place } from "../../lib/text/cuts";
import style from "./Divided.module.css";

const LINE_CHARS = 100;
const LINE_PX = 24;
/** The number of boxes in an outer box, because laying out thousands of empty boxes also costs time. */
const TOGETHER = 50;

/** True for most texts: they need only a text node. */
export const isPlain = (text: string): boolean => text.length <= WHOLE_CHARS && !leaks(text);

/** Places in the text that get their own element. */
export interface Marks {
  tag: "ins" | "del";
  places: readonly Place[];
}

export function Divided({ text, marks }: { text: string; marks?: Marks | undefined }) {
  const pieces = useMemo(() => (text.length > WHOLE_CHARS ? placed(chunks(text)) : null), [text]);
  if (pieces !== null) return <Pieces pieces={pieces} marks={marks} />;
  const body = <Body text={text} from={0} marks={marks} />;
  return isPlain(text) ? body : <span class={style["own"]}>{body}</span>;
}

function Body({ text, from, marks }: { text: string; from: number; marks: Marks | undefined }) {
  if (marks === undefined) return <>{text}</>;
  const { tag: Tag, places } = marks;
  // The stretches of a text never change their order, so their index identifies them.
  return (
    <>
      {cuts(text, places, from).map(({ text: piece, isMarked }, i) =>
        isMarked ? (
          <Tag key={i} class="differs">
            {piece}
          </Tag>
        ) : (
          piece
        ),
      )}
    </>
  );
}

interface Piece {
  text: string;
  /** Its start in the whole text. */
  from: number;
}

function placed(texts: readonly string[]): Piece[] {
  let from = 0;
  return texts.map((text) => {
    const piece = { text, from };
    from += text.length;
    return piece;
  });
}

function Pieces({ pieces, marks }: { pieces: readonly Piece[]; marks: Marks | undefined }) {
  if (pieces.length <= TOGETHER) {
    return (
      <>
        {pieces.map(({ text, from }) => (
          <span key={from} class={style["piece"]} style={high(rows(text))}>
            <Body text={text} from={from} marks={marks} />
          </span>
        ))}
      </>
    );
  }
  const boxes = Array.from({ length: Math.ceil(pieces.length / TOGETHER) }, (_, i) =>
    pieces.slice(i * TOGETHER, (i + 1) * TOGETHER),
  );
  return (
    <>
      {boxes.map((members) => (
        <span
          key={members[0]?.from}
          class={style["piece"]}
          style={high(members.reduce((sum, { text }) => sum + rows(text), 0))}
        >
          <Pieces pieces={members} marks={marks} />
        </span>
      ))}
    </>
  );
}

const rows = (text: string): number => lines(text, LINE_CHARS);
const high = (count: number) => ({ containIntrinsicBlockSize: `auto ${count * LINE_PX}px` });
