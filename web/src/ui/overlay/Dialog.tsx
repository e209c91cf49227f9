/** A card over the page: its owner opens and closes it; Escape and a press beside it close it, too. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import style from "./Dialog.module.css";

interface Props {
  label: string;
  isOpen: boolean;
  close: () => void;
  children: ComponentChildren;
  class?: string | undefined;
  /** Near the top of the page instead of the middle. */
  isHigh?: boolean;
}

export function Dialog({ label, isOpen, close, children, class: className = "", isHigh = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: text typed right away belongs to the card.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    // The keyboard has Escape, which a dialog handles itself.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      class={`${style["dialog"]} ${isHigh ? style["high"] : ""} ${className}`}
      aria-label={label}
      // Escape. The next key may come before the event of the closing, and belongs to the page.
      onCancel={(event) => event.target === dialog.current && close()}
      // That event comes a moment later, when the card may be open again.
      onClose={() => {
        if (dialog.current?.open === false) close();
      }}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      {isOpen && children}
    </dialog>
  );
}
