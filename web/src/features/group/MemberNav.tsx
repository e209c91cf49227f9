/** The small navigator below a group, which shows the current sample's place. */

import { useSession } from "../../state/useSession";
import { Pager } from "../../ui/controls/Pager";

export function MemberNav() {
  const session = useSession();
  const ids = session.group.shownIds.value;
  const at = ids.indexOf(session.place.field.sample.value ?? "");
  if (at < 0) return null;
  return (
    <Pager
      label="Samples of this group"
      at={at + 1}
      of={ids.length}
      isFirst={at === 0}
      isLast={at === ids.length - 1}
      go={(by) => session.group.goMember(by)}
    />
  );
}
