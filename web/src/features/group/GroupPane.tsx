/** The middle pane with a group: its samples side by side, as a table, or two of them word by word. */

import { useSession } from "../../state/useSession";
import { Failure, Missing, State } from "../../ui/layout/EmptyState";
import { Columns } from "./columns/Columns";
import { Difference } from "./columns/Difference";
import { GroupHeader } from "./GroupHeader";
import { GroupTable } from "./table/GroupTable";
import { MemberNav } from "./MemberNav";
import { Gist, Prompt } from "./Prompt";
import { PromptStrip } from "../prompt";
import { SamePrompt } from "./SamePrompt";
import style from "./GroupPane.module.css";

export function GroupPane() {
  const session = useSession();
  const isTable = session.place.field.isTable.value;
  const isDiff = session.place.field.isDiff.value;
  const reply = session.group.isShown.value ? session.group.answers.value : null;
  const isFailed = session.group.answersError.value !== null && reply === null;
  const group = session.group.groupId.value;
  return (
    <main
      class={style["pane"]}
      aria-label="Group"
      aria-busy={reply === null && !isTable && !isFailed && group !== null}
    >
      <PromptStrip />
      <div class={style["body"]}>
        <GroupHeader />
        {group === null && (
          <State title="No group is open">
            <p>Choose a sample in the list.</p>
          </State>
        )}
        {group !== null && (
          <>
            <div class={style["above"]}>
              {reply === null ? <Gist /> : <Prompt key={group} reply={reply} />}
              <SamePrompt />
            </div>
            {isTable && <GroupTable key={group} />}
            {!isTable && isFailed && session.group.answersError.value !== null && (
              <Failure
                error={session.group.answersError.value}
                what="The answers of this group"
                again={session.group.again}
              />
            )}
            {!isTable && reply !== null && session.group.answersError.value !== null && (
              <Missing error={session.group.answersError.value} again={session.group.again} />
            )}
            {!isTable &&
              reply !== null &&
              (isDiff ? <Difference reply={reply} /> : <Columns key={group} reply={reply} />)}
          </>
        )}
      </div>
      <MemberNav />
    </main>
  );
}
