/** The text of an answer, verbatim, turn by turn: text common to all is dim, and the first differing word is marked. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { MemberPiece } from "../../../api/types.gen";
import { render } from "../../../state/browser/textOptions";
import { Text } from "../../../ui/text/Text";
import { Gradual } from "./Gradual";
import { roleOf } from "../sampleNames";
import style from "./Pieces.module.css";

/** The first differing word, with invisible characters before it; only the beginning of a very long one. */
const WORD = /^[\s\p{Cc}\p{Cf}]*(?:[^\s\p{M}][\p{M}\p{Cf}]*){0,40}/u;

/** The number of stretches to draw in a frame. */
const A_FRAME = 60;

interface Stretch {
  turn: number;
  role: string;
  name: string;
  kind: string;
}

export function Pieces({ pieces, isMarked }: { pieces: readonly MemberPiece[]; isMarked: boolean }) {
  const { visible } = render.value;
  const first = isMarked ? pieces.findIndex(({ own }) => own !== "") : -1;
  const shown = useMemo(
    () => (visible ? pieces : pieces.map((piece, i) => (i === first ? piece : trimmed(piece)))),
    [pieces, first, visible],
  );
  return (
    <Turns
      pieces={shown}
      renderPiece={(piece, i) => (
        <>
          {piece.common !== "" && (
            <span class={style["common"]}>
              <Text text={piece.common} />
            </span>
          )}
          {piece.shared !== "" && <Text text={piece.shared} />}
          {i === first ? <Parting text={piece.own} /> : piece.own !== "" && <Text text={piece.own} />}
        </>
      )}
    />
  );
}

const STRETCHES = ["common", "shared", "own"] as const;

/** The text without blank lines at both ends, as around thoughts. */
function trimmed(piece: MemberPiece): MemberPiece {
  const result = { ...piece };
  const front = STRETCHES.find((name) => result[name] !== "");
  if (front !== undefined) result[front] = result[front].replace(/^(?:[ \t]*\r?\n)+/, "");
  const end = STRETCHES.findLast((name) => result[name] !== "");
  if (end !== undefined) result[end] = result[end].trimEnd();
  return result;
}

function Parting({ text }: { text: string }) {
  const [word = ""] = WORD.exec(text) ?? [];
  return (
    <>
      <mark class={style["parting"]} title="They differ from here">
        <Text text={word} />
      </mark>
      <Text text={text.slice(word.length)} />
    </>
  );
}

/** Stretches of text below their roles; roles are shown if there are several turns. */
export function Turns<P extends Stretch>({
  pieces,
  renderPiece,
}: {
  pieces: readonly P[];
  renderPiece: (piece: P, place: number) => ComponentChildren;
}) {
  const hasRoles = pieces.some(({ turn, role }) => turn !== pieces[0]?.turn || role !== "assistant");
  return (
    <Gradual
      items={pieces}
      by={A_FRAME}
      renderItem={(piece, i) => (
        // The stretches of an answer never change their order, so their index identifies them.
        <Stretched key={i} piece={piece} isNew={hasRoles && piece.turn !== pieces[i - 1]?.turn}>
          {renderPiece(piece, i)}
        </Stretched>
      )}
    />
  );
}

function Stretched({ piece, isNew, children }: { piece: Stretch; isNew: boolean; children: ComponentChildren }) {
  return (
    <>
      {isNew && (
        <h2 class={style["role"]}>
          <Text text={roleOf(piece.role)} />
          {piece.name !== "" && (
            <small>
              {" "}
              <Text text={piece.name} />
            </small>
          )}
        </h2>
      )}
      <div class={`${style["piece"]} ${style[KINDS.get(piece.kind) ?? "text"]}`}>
        {piece.kind === "think" && <small class={style["label"]}>Thought</small>}
        {children}
      </div>
    </>
  );
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ["think", "think"],
  ["tool_call", "code"],
  ["tool_result", "code"],
  ["json", "code"],
  ["marker", "marker"],
  ["placeholder", "marker"],
  ["image", "marker"],
]);
