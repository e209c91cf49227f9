/** What stands above a sample: its place, its id, how to look at it, and all its figures. */

import type { SampleReply } from "../../api/types.gen";
import { field, go } from "../../state/place";
import { Copy } from "../../ui/Copy";
import { Icon } from "../../ui/Icon";
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
  const view = field.view.value;
  const all = willExpand.value ? "Expand all" : "Collapse all";
  return (
    <header class={style["header"]}>
      <div class={style["first"]}>
        <h1>
          Sample {reply.position} of {reply.group_size}
        </h1>
        <Copy class={style["id"]} label={reply.id} what="(copy the id)" text={() => reply.id} />
        <span class={style["tools"]} role="group" aria-label="What can be done with this sample">
          {view === "transcript" && <RenderMenu />}
          {view === "transcript" && (
            <button type="button" class="action" aria-label="Find" title="Find in this sample (F)" aria-pressed={isFinding.value} onClick={isFinding.value ? closeFind : openFind}>
              <Icon sign="search" size={16} />
            </button>
          )}
          {view === "transcript" && (
            <button type="button" class="action" aria-label={all} title={`${all} (e)`} onClick={turnFolds}>
              <Icon sign={willExpand.value ? "unfold" : "fold"} size={16} />
            </button>
          )}
          <MarkButtons run={reply.run} id={reply.id} />
          <button type="button" class="action" aria-label="Copy link to this sample" title="Copy link to this sample (y)" onClick={() => void copyLink()}>
            <Icon sign="link" size={16} />
          </button>
        </span>
        <Segments label="View" options={VIEWS} value={view} choose={(next) => go({ view: next })} />
      </div>
      <Facts reply={reply} />
      <Note run={reply.run} id={reply.id} />
    </header>
  );
}
