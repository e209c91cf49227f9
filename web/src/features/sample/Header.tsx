/** What stands above a sample: its place, its id, how to look at it, and all its figures. */

import type { SampleReply } from "../../api/types.gen";
import { go, place } from "../../state/place";
import { Copy } from "../../ui/Copy";
import { copyLink } from "../../ui/link";
import { Segments } from "../../ui/Segments";
import { MarkButtons, Note } from "../marks/SampleMarks";
import { Facts } from "./Facts";
import { closeFind, isFinding, openFind } from "./find";
import { turnFolds, willExpand } from "./folds";
import { RenderMenu } from "./RenderMenu";
import { VIEWS } from "./views";
import style from "./Header.module.css";

export function Header({ reply }: { reply: SampleReply }) {
  const { view } = place.value;
  return (
    <header class={style["header"]}>
      <div class={style["first"]}>
        <h1>
          Sample {reply.position} of {reply.group_size}
        </h1>
        <Copy class={style["id"]} label={reply.id} what="(copy the id)" text={() => reply.id} />
        <span class={style["tools"]}>
          {view === "transcript" && <RenderMenu />}
          {view === "transcript" && (
            <button type="button" class="action" title="Find in this sample (F)" aria-pressed={isFinding.value} onClick={isFinding.value ? closeFind : openFind}>
              Find
            </button>
          )}
          {view === "transcript" && (
            <button type="button" class="action" title={`${willExpand.value ? "Expand" : "Collapse"} all (e)`} onClick={turnFolds}>
              {willExpand.value ? "Expand all" : "Collapse all"}
            </button>
          )}
          <MarkButtons run={reply.run} id={reply.id} />
          <button type="button" class="action" aria-label="Copy link to this sample" onClick={() => void copyLink()}>
            Copy link
          </button>
          <Segments label="View" options={VIEWS} value={view} choose={(next) => go({ view: next })} />
        </span>
      </div>
      <Facts reply={reply} />
      <Note run={reply.run} id={reply.id} />
    </header>
  );
}
