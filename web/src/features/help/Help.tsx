/** The map of keys. */

import { useEffect, useRef } from "preact/hooks";
import { KEYS, LIST_KEYS } from "../../lib/keymap";
import { helpOpen } from "./help";
import style from "./Help.module.css";

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = helpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = (): void => {
    helpOpen.value = false;
  };
  return (
    // A click beside the card closes it; the keyboard has Escape, which a dialog knows by itself.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      class={style["dialog"]}
      aria-label="Keys"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class={style["body"]}>
        <h2>Keys</h2>
        <Map entries={KEYS} />
        <h3>In a list</h3>
        <Map entries={LIST_KEYS} />
        <p>
          <button type="button" class="button" onClick={close}>
            Close
          </button>
        </p>
      </div>
    </dialog>
  );
}

function Map({ entries }: { entries: readonly { label: string; words: string }[] }) {
  return (
    <dl class={style["map"]}>
      {entries.filter(({ label }) => label !== "").map(({ label, words }) => (
        <div key={label}>
          <dt>
            <kbd>{label}</kbd>
          </dt>
          <dd>{words}</dd>
        </div>
      ))}
    </dl>
  );
}
