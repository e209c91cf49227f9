/** The small navigator below the sample: its place in its group or in the list. */

import { useSession } from "../../state/useSession";
import { figure } from "../../lib/numbers/numbers";
import { Pager } from "../../ui/controls/Pager";

export function MiniNav() {
  const session = useSession();
  const list = session.list.now.value;
  const here = session.list.position.value;
  if (list === null || here === null) return null;
  // Within its group if the list shows whole groups to browse one after another; otherwise within the list.
  const isWhole = list.scope.sort === "index" && list.scope.where === "" && !list.scope.discarded;
  const group = isWhole ? session.browse.groupHere.value : null;
  const [at, of] = group === null ? [here + 1, list.total] : [here - group.first + 1, group.samples];
  return (
    <Pager
      label="Samples before and after this one"
      at={at}
      of={of}
      title={`Sample ${figure(here + 1)} of ${figure(list.total)} in the list`}
      isFirst={here <= 0}
      isLast={here >= list.total - 1}
      go={(by) => void session.browse.goOn(by)}
    />
  );
}
