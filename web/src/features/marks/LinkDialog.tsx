/** A link to copy by hand, selected: for browsers that close the clipboard to this page. */

import { linkShown } from "../../ui/controls/link";
import { Dialog } from "../../ui/overlay/Dialog";
import style from "./LinkDialog.module.css";

const close = (): void => {
  linkShown.value = null;
};

export function LinkDialog() {
  const link = linkShown.value;
  return (
    <Dialog label="Link to this" isOpen={link !== null} close={close}>
      <div class={style["body"]}>
        <h2>The browser does not let this page copy</h2>
        <p>The link is selected: copy it with Ctrl+C, or Cmd+C.</p>
        <textarea
          class={`field ${style["link"]}`}
          aria-label="Link"
          readOnly
          rows={4}
          value={link ?? ""}
          ref={(element) => {
            element?.focus();
            element?.select();
          }}
        />
        <p>
          <button type="button" class="button" onClick={close}>
            Close
          </button>
        </p>
      </div>
    </Dialog>
  );
}
