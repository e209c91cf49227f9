/** Two answers of a group side by side, with marks on the words that the other lacks. */

import { useSession } from "../../../state/useSession";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { MemberText, MembersReply } from "../../../api/types.gen";
import {
  type Difference as Result,
  type Differing,
  inBlocks,
  type Stretch,
  type DiffPiece,
} from "../../../lib/diff/diff";
import { count } from "../../../lib/numbers/numbers";
import { compare } from "../../../ui/text/differ";
import { State } from "../../../ui/layout/EmptyState";
import { Text } from "../../../ui/text/Text";
import { ColumnHead } from "./Column";
import { Block, Gradual } from "./Gradual";
import { nameOf } from "../sampleNames";
import { Pieces, Turns } from "./Pieces";
import columns from "./Columns.module.css";
import style from "./Pieces.module.css";

/** The number of blocks to draw in a frame. */
const A_FRAME = 2;
/** With more differing stretches, nothing is marked: nobody looks at that many marks. */
const MOST_STRETCHES = 20_000;
/** The number of characters at either end of a long common stretch to show. */
const ENDS_CHARS = 400;

export function Difference({ reply }: { reply: MembersReply }) {
  const second = reply.answers[0];
  const first = reply.reference;
  const { membersHere } = useSession().group;
  if (second === undefined) return null;
  if (membersHere.value.length === 1 && first === null)
    return (
      <State title="Nothing to compare with">
        <p>This sample is the only one of its group.</p>
      </State>
    );
  if (first === null) {
    return (
      <State title={second.id === reply.against ? "A sample cannot be compared with itself" : "Comparing …"}>
        {second.id === reply.against && <p>Choose another sample above or with the arrow keys.</p>}
      </State>
    );
  }
  return <Two key={`${first.id} ${second.id}`} first={first} second={second} />;
}

function Two({ first, second }: { first: MemberText; second: MemberText }) {
  const session = useSession();
  const [result, set] = useState<Result | null>(null);
  const sides = useMemo(() => [piecesOf(first), piecesOf(second)] as const, [first, second]);
  useEffect(() => {
    set(null);
    return compare(...sides, set);
  }, [sides]);
  const isWhole = result !== null && !("refused" in result);
  const tooMany = isWhole && stretches(result.first) + stretches(result.second) > MOST_STRETCHES;
  const cut = first.cut + second.cut;
  const items = session.group.membersHere.value;
  return (
    <>
      <p class={columns["pages"]} role="status">
        {result === null && "Comparing …"}
        {result !== null && "refused" in result && `Not compared: ${result.refused}. Both are shown as they are.`}
        {isWhole &&
          (result.by === "words"
            ? "Marked words are not in the other one"
            : "They differ too much to compare words: marked sentences are not in the other one")}
        {isWhole && ` · ${Math.round(result.share * 100)}% of ${nameOf(items, first.id)} is in both`}
        {tooMany && " · too many places to mark"}
        {cut > 0 && ` · ${count(cut, "character")} at the end are left out`}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
      <div
        class={`${columns["columns"]} ${columns["alone"]} ${columns["two"]}`}
        role="region"
        tabIndex={0}
        aria-label="Two answers, word by word"
      >
        <Side answer={first} result={isWhole && !tooMany ? result.first : null} isHere={false} />
        <Side answer={second} result={isWhole && !tooMany ? result.second : null} isHere />
      </div>
    </>
  );
}

function Side({
  answer,
  result,
  isHere,
}: {
  answer: MemberText;
  result: readonly Differing[] | null;
  isHere: boolean;
}) {
  const session = useSession();
  const items = session.group.membersHere.value;
  return (
    <section class={columns["column"]} aria-label={nameOf(items, answer.id)} aria-current={isHere ? "true" : undefined}>
      <ColumnHead answer={answer} item={session.group.itemOf(answer.id)} items={items} />
      <div class={columns["body"]}>
        {answer.chars === 0 && <p class={columns["none"]}>No answer.</p>}
        {result === null ? (
          <Pieces pieces={answer.pieces} isMarked={answer.verdict === "parts"} />
        ) : (
          <Turns pieces={result} renderPiece={(piece) => <Stretches stretches={piece.stretches} />} />
        )}
      </div>
    </section>
  );
}

function Stretches({ stretches: all }: { stretches: readonly Stretch[] }) {
  const blocks = useMemo(() => inBlocks(all), [all]);
  return (
    <Gradual
      items={blocks}
      by={A_FRAME}
      renderItem={(block, i) => (
        <Block key={i} chars={block.map(({ text }) => text).join("")}>
          {block.map(stretch)}
        </Block>
      )}
    />
  );
}

function stretch({ text, isSame }: { text: string; isSame: boolean }, i: number) {
  return isSame ? (
    <Same key={i} text={text} />
  ) : (
    <mark key={i} class={style["own"]}>
      <Text text={text} />
    </mark>
  );
}

/** Text that both share; the middle of a long one is folded. */
function Same({ text }: { text: string }) {
  const [isOpen, open] = useState(false);
  if (isOpen || text.length < 4 * ENDS_CHARS)
    return (
      <span class={style["same"]}>
        <Text text={text} />
      </span>
    );
  const head = opens(text, ENDS_CHARS);
  const tail = opens(text, text.length - ENDS_CHARS);
  return (
    <span class={style["same"]}>
      <Text text={text.slice(0, head)} />
      <button
        type="button"
        class={`action ${columns["fold"]}`}
        onClick={() => open(true)}
      >{`… ${count(tail - head, "character")}, the same in both: show`}</button>
      <Text text={text.slice(tail)} />
    </span>
  );
}

/** The place after the next white space, without splitting a character. */
function opens(text: string, from: number): number {
  const result = text.slice(from, from + ENDS_CHARS).search(/\s/);
  return result < 0 ? from : from + result + 1;
}

const piecesOf = (answer: MemberText): DiffPiece[] =>
  answer.pieces.map(({ turn, role, name, kind, common, shared, own }) => ({
    turn,
    role,
    name,
    kind,
    text: common + shared + own,
  }));

const stretches = (side: readonly Differing[]): number => side.reduce((sum, one) => sum + one.stretches.length, 0);
