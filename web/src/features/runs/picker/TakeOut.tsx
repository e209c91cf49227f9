/** The button that removes a run from the other runs of the page. */

import type { RunItem } from "../../../api/types.gen";
import { nameOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";

/** `from` names the list that loses the run, for screen readers. */
export function TakeOut({ item, from, class: name }: { item: RunItem; from: string; class?: string | undefined }) {
  const session = useSession();
  return (
    <button
      type="button"
      class={`action ${name ?? ""}`}
      aria-label={`Remove ${nameOf(item)}${from}`}
      title="Remove"
      onClick={() => session.overlays.toggle(item.id)}
    >
      ×
    </button>
  );
}
