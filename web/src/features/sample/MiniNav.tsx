/** The small navigator below the sample: its place in its group or in the list. */

import { useSession } from "../../state/useSession";
import { figure } from "../../lib/numbers/numbers";
import { Pager } from "../../ui/controls/Pager";

export function MiniNav() {
  const session = useSession();
  const list = session.list.now.value;
  const here = session.list.position.value;
  const place = session.browse.placeOf(session.place.field.sample.value ?? "");
  if (list === null || here === null || place === null) return null;
  return (
    <Pager
      label="Samples before and after this one"
      at={place.at}
      of={place.of}
      title={`Sample ${figure(here + 1)} of ${figure(list.total)} in the list`}
      isFirst={here <= 0}
      isLast={here >= list.total - 1}
      go={(by) => void session.browse.goOn(by)}
    />
  );
}
