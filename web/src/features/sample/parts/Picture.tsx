/** An image of the record: a thumbnail that opens in full size. The server checks an image before it sends it. */

import { useSession } from "../../../state/useSession";
import { useState } from "preact/hooks";
import { imageAt, imageError, isAlone } from "../../../api";
import { promptAfter } from "../../../state/browser/textOptions";
import style from "./Picture.module.css";

/** `what` describes the image, `at` identifies it. */
export function Picture({ at, what }: { at: string; what: string }) {
  const session = useSession();
  const [isOpen, open] = useState(false);
  const [why, tell] = useState<string | null>(null);
  const of = session.sample.now.value;
  if (of === null) return <span class={style["none"]}>{what}</span>;
  if (isAlone()) return <span class={style["none"]}>{what}: not in this report</span>;
  const address = imageAt(of.run, of.id, at, promptAfter.value || undefined);
  if (why !== null)
    return (
      <span class={style["none"]}>
        {what}: {why}
      </span>
    );
  const failed = (): void => void imageError(address).then((reason) => tell(reason ?? "it cannot be displayed"));
  return (
    <button
      type="button"
      class={style["picture"]}
      aria-expanded={isOpen}
      title={isOpen ? `${what}. Show it small` : `${what}. Show it in full`}
      onClick={() => open(!isOpen)}
    >
      <img
        class={isOpen ? style["whole"] : style["small"]}
        src={address}
        alt={what}
        loading="lazy"
        decoding="async"
        onError={failed}
      />
    </button>
  );
}
