/** The compared runs, with their colours, names and notes; runs are added and taken out here. */

import type { RunItem } from "../../api/types.gen";
import { nameOf, runMark } from "../../state/marks";
import { useSession } from "../../state/useSession";
import { Icon } from "../../ui/controls/Icon";
import { Popover } from "../../ui/overlay/Popover";
import { Text } from "../../ui/text/Text";
import { AddRuns, RunEditor, RunName, TakeOut } from "../runs";
import style from "./Compare.module.css";

export function ComparedRuns({ compared }: { compared: readonly RunItem[] }) {
  return (
    <ul class={style["runs"]} aria-label="Compared runs">
      {compared.map((item, at) => (
        <li key={item.id}>
          <Compared item={item} isFirst={at === 0} />
        </li>
      ))}
      <li class={style["add"]}>
        <AddRuns label="Compared runs:" button="Add a run" buttonClass="button" />
      </li>
    </ul>
  );
}

function Compared({ item, isFirst }: { item: RunItem; isFirst: boolean }) {
  const session = useSession();
  const { note } = runMark(item.id);
  const name = nameOf(item);
  const over = session.place.field.over.value;
  const first = { run: item.id, over: [session.run.now.value?.id ?? "", ...over.filter((id) => id !== item.id)] };
  return (
    <>
      <RunName item={item} />
      {isFirst ? (
        <small class="quiet">the others are compared with this one</small>
      ) : (
        <a
          href={session.place.href(first)}
          onClick={session.place.onLink(first)}
          title="Compare the others with this run"
          aria-label={`put first: ${name}`}
        >
          put first
        </a>
      )}
      {note !== "" && (
        <small class={style["note"]}>
          <Text text={note} />
        </small>
      )}
      <Popover
        label={`Name, colour and note of ${name}`}
        title="Name, colour, note"
        button={<Icon sign="more" size={16} />}
        buttonClass={`action ${style["icon"]}`}
      >
        {(close) => <RunEditor item={item} done={close} />}
      </Popover>
      {!isFirst && <TakeOut item={item} from="" class={style["icon"]} />}
    </>
  );
}
