/** One answer of a group: its figures on top, and its text with a mark where it diverges from another answer. */

import { useSession } from "../../../state/useSession";
import { useRef } from "preact/hooks";
import type { MemberText, MembersReply, SampleItem } from "../../../api/types.gen";
import { isReason } from "../../../lib/sample/discardReasons";
import { count, exact, figure, signed, toNumber } from "../../../lib/numbers/numbers";
import { inkOf } from "../../../lib/colour/scales";
import { MOST_CHARS } from "../../../state/group";
import { Score } from "../../../ui/text/Score";
import { nameOf } from "../sampleNames";
import { Pieces } from "./Pieces";
import { Text } from "../../../ui/text/Text";
import style from "./Columns.module.css";

interface Props {
  answer: MemberText;
  reply: MembersReply;
  /** The sample as in the list; undefined while it is loading. */
  item: SampleItem | undefined;
  items: readonly SampleItem[];
  isHere: boolean;
}

export function Column({ answer, reply, item, items, isHere }: Props) {
  const root = useRef<HTMLElement>(null);
  const other = nameOf(items, reply.against);
  return (
    <section
      ref={root}
      class={style["column"]}
      aria-label={nameOf(items, answer.id)}
      aria-current={isHere ? "true" : undefined}
    >
      <ColumnHead answer={answer} item={item} items={items}>
        {(reply.total > 1 || reply.reference !== null) && (
          <p class={style["verdict"]}>
            <Verdict
              answer={answer}
              other={other}
              to={() => root.current?.querySelector("mark")?.scrollIntoView({ block: "center", inline: "nearest" })}
            />
          </p>
        )}
      </ColumnHead>
      <Body answer={answer} />
    </section>
  );
}

export function ColumnHead({
  answer,
  item,
  items,
  children,
}: {
  answer: MemberText;
  item: SampleItem | undefined;
  items: readonly SampleItem[];
  children?: preact.ComponentChildren;
}) {
  const session = useSession();
  const alone = { sample: answer.id, view: "transcript" as const };
  return (
    <header class={style["head"]}>
      <div class={style["name"]}>
        <a href={session.place.href(alone)} onClick={session.place.onLink(alone)} title={`${answer.id}: read it alone`}>
          {nameOf(items, answer.id)}
        </a>
        {item !== undefined && <Score value={item.reward} />}
        {item !== undefined &&
          item.status !== "completed" &&
          item.status !== "unknown" &&
          !isReason(item.status, item.discarded) && (
            <span class={`${style["tag"]} ${style["warn"]}`}>
              <Text text={item.status} />
            </span>
          )}
        {item !== undefined && item.discarded !== "" && (
          <span class={`${style["tag"]} ${style["warn"]}`} title="not trained on">
            <Text text={item.discarded} />
          </span>
        )}
      </div>
      <dl class={style["facts"]}>
        {item !== undefined && item.advantage !== null && (
          <div title={`advantage ${exact(item.advantage)}`}>
            <dt>Advantage</dt>
            <dd style={{ color: inkOf(session.columns.scale("advantage"), toNumber(item.advantage)) }}>
              {signed(item.advantage)}
            </dd>
          </div>
        )}
        {item !== undefined && item.response_tokens !== null && (
          <div>
            <dt>Response tokens</dt>
            <dd>{figure(item.response_tokens)}</dd>
          </div>
        )}
        <div>
          <dt>Characters</dt>
          <dd>{figure(item?.response_chars ?? answer.chars)}</dd>
        </div>
        {item !== undefined && item.turns > 1 && (
          <div>
            <dt>Turns</dt>
            <dd>{figure(item.turns)}</dd>
          </div>
        )}
      </dl>
      {children}
    </header>
  );
}

function Verdict({ answer, other, to }: { answer: MemberText; other: string; to: () => void }) {
  const { verdict, parts_at: at } = answer;
  if (verdict === "self") return <span>the one the others are compared with</span>;
  if (verdict === "same") return <span>is identical to {other}</span>;
  if (verdict === "alike") return <span>is identical to {other} in the compared part</span>;
  if (verdict === "ends") return <span>stops where {other} continues</span>;
  if (verdict !== "parts") return null;
  const words =
    at === 0 ? `differs from ${other} from the start` : `differs from ${other} after ${count(at, "character")}`;
  if (answer.pieces.every(({ own }) => own === "")) return <span>{words}</span>; // that place is not loaded
  return (
    <button type="button" class="action" title="Go to that place" onClick={to}>
      {words}
    </button>
  );
}

function Body({ answer }: { answer: MemberText }) {
  const session = useSession();
  if (answer.verdict === "error")
    return (
      <p class={`${style["none"]} ${style["error"]}`}>
        <Text text={answer.error} />
      </p>
    );
  if (answer.chars === 0) return <p class={style["none"]}>No answer.</p>;
  return (
    <div class={style["body"]}>
      {answer.skipped > 0 && (
        <button type="button" class={`action ${style["fold"]}`} onClick={session.group.showLead}>
          {`… ${count(answer.skipped, "character")} before this are the same in all: show`}
        </button>
      )}
      <Pieces pieces={answer.pieces} isMarked={answer.verdict === "parts"} />
      {answer.cut > 0 && <More answer={answer} />}
    </div>
  );
}

function More({ answer }: { answer: MemberText }) {
  const session = useSession();
  const alone = { sample: answer.id, view: "transcript" as const };
  const sent = answer.chars - answer.cut;
  if (sent >= MOST_CHARS / 64) {
    return (
      <a
        class={style["fold"]}
        href={session.place.href(alone)}
        onClick={session.place.onLink(alone)}
      >{`${count(answer.cut, "character")} more: read it alone`}</a>
    );
  }
  return (
    <button
      type="button"
      class={`action ${style["fold"]}`}
      onClick={session.group.showMore}
    >{`${count(answer.cut, "character")} more: show`}</button>
  );
}
