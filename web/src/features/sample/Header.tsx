/** The header of a sample: its place, its id, the views, and all its figures. */

import { useSession } from "../../state/useSession";
import type { SampleReply } from "../../api/types.gen";
import { figure } from "../../lib/numbers/numbers";
import { Copy } from "../../ui/controls/Copy";
import { Icon } from "../../ui/controls/Icon";
import { copyLink } from "../../ui/controls/link";
import { Segments } from "../../ui/controls/Segments";
import { openExport } from "../export";
import { JudgeButton } from "../judging";
import { MarkButtons, Note } from "../marks";
import { TokensFile } from "../tokens";
import { Facts } from "./Facts";
import { RenderMenu } from "./RenderMenu";
import { VIEWS } from "./views";
import style from "./Header.module.css";

/** The view of one step on the page of metrics. */
const STEP_VIEW = "step";

export function Header({ reply }: { reply: SampleReply }) {
  const session = useSession();
  const view = session.place.field.view.value;
  const place = session.browse.placeOf(reply.id) ?? { at: reply.position, of: reply.group_size };
  const isBlind = session.judging.isBlind.value;
  const ofStep = { page: "metrics" as const, ask: { view: STEP_VIEW } };
  const all = session.folds.willExpand.value ? "Expand all" : "Collapse all";
  return (
    <header class={style["header"]}>
      <div class={style["first"]}>
        <h1>
          Sample {figure(place.at)} of {figure(place.of)}
        </h1>
        <Copy class={style["id"]} label={reply.id} what="(copy the id)" text={() => reply.id} />
        <span class={style["tools"]} role="group" aria-label="Actions on this sample">
          {view === "transcript" && <RenderMenu />}
          {view === "transcript" && (
            <button
              type="button"
              class="action"
              aria-label="Find"
              title="Find in this sample (F)"
              aria-pressed={session.find.isFinding.value}
              onClick={session.find.isFinding.value ? session.find.close : session.find.open}
            >
              <Icon sign="search" size={16} />
            </button>
          )}
          {view === "transcript" && (
            <button type="button" class="action" aria-label={all} title={`${all} (e)`} onClick={session.folds.turn}>
              <Icon sign={session.folds.willExpand.value ? "unfold" : "fold"} size={16} />
            </button>
          )}
          {view === "tokens" && <TokensFile />}
          {!isBlind && reply.group_size < (session.list.now.value?.total ?? 0) && (
            <a
              class="action"
              href={session.place.href(ofStep)}
              onClick={session.place.onLink(ofStep)}
              aria-label="Charts of this step"
              title="Charts of this step: the distribution, a bar for each sample, the gap to the reference"
            >
              <Icon sign="charts" size={16} />
            </a>
          )}
          <MarkButtons run={reply.run} id={reply.id} />
          <JudgeButton run={reply.run} id={reply.id} />
          <button
            type="button"
            class="action"
            aria-label="Copy link to this sample"
            title="Copy link to this sample (y)"
            onClick={() => void copyLink(session)}
          >
            <Icon sign="link" size={16} />
          </button>
          <button
            type="button"
            class="action"
            title="Share this sample: a report in one file, or a link (s)"
            onClick={() => openExport("sample", "html")}
          >
            <Icon sign="share" size={16} /> Share
          </button>
        </span>
        {!isBlind && (
          <Segments
            label="View"
            options={VIEWS}
            value={view}
            choose={(next) => session.place.go({ view: next })}
            near={(next) => next === "tokens" && session.tokens.prepare()}
          />
        )}
      </div>
      {!isBlind && <Facts reply={reply} isBrief={view === "tokens"} />}
      <Note run={reply.run} id={reply.id} />
    </header>
  );
}
