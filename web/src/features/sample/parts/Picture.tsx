/** An image of the record: a thumbnail that opens in full size. The server checks an image before it sends it. */

import { useSession } from "../../../state/useSession";
import { useEffect, useRef, useState } from "preact/hooks";
import { getImage, isAlone } from "../../../api";
import { promptAfter } from "../../../state/browser/textOptions";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import style from "./Picture.module.css";

/** `what` describes the image, `at` identifies it. */
export function Picture({ at, what }: { at: string; what: string }) {
  const session = useSession();
  const [isOpen, open] = useState(false);
  const [isBroken, tell] = useState(false);
  const place = useRef<HTMLButtonElement>(null);
  const isNear = useNear(place);
  const of = session.sample.now.value;
  const after = promptAfter.value || undefined;
  const key = of === null || !isNear ? null : JSON.stringify([of.run, of.id, at, after]);
  const { value, error } = useLoaded(key, () => getImage(of?.run ?? "", of?.id ?? "", at, after));
  const address = useAddress(value);
  if (of === null) return <span class={style["none"]}>{what}</span>;
  if (isAlone()) return <span class={style["none"]}>{what}: not in this report</span>;
  if (error !== null || isBroken)
    return (
      <span class={style["none"]}>
        {what}: {error?.message ?? "it cannot be displayed"}
      </span>
    );
  return (
    <button
      ref={place}
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
        decoding="async"
        onError={() => tell(true)}
      />
    </button>
  );
}

/** True once an element was on the screen. */
function useNear(place: { current: Element | null }): boolean {
  const [isNear, near] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null || isNear) return undefined;
    const watch = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) near(true);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [place, isNear]);
  return isNear;
}

/** The address of an image that the page holds; none before there is one. */
function useAddress(image: Blob | null): string | undefined {
  const [address, set] = useState<string>();
  useEffect(() => {
    if (image === null) return undefined;
    const made = URL.createObjectURL(image);
    set(made);
    return () => {
      URL.revokeObjectURL(made);
      set(undefined);
    };
  }, [image]);
  return address;
}
