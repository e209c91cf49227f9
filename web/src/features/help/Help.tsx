/** The map of keys. */

import { CHART_KEYS, FOCUSED_TOKEN_KEYS, KEYS, LIST_KEYS, TOKEN_KEYS } from "../../lib/keymap";
import { Dialog } from "../../ui/overlay/Dialog";
import { helpOpen } from "./helpOpen";
import style from "./Help.module.css";

const close = (): void => {
  helpOpen.value = false;
};

export function Help() {
  return (
    <Dialog label="Keys" isOpen={helpOpen.value} close={close}>
      <div class={style["body"]}>
        <div class={style["top"]}>
          <h2>Keys</h2>
          <button type="button" class="action" onClick={close}>
            Close
          </button>
        </div>
        <Map entries={KEYS.filter(({ action }) => TOKEN_KEYS.every((one) => one.action !== action))} />
        <h3>In the view Tokens</h3>
        <Map entries={[...TOKEN_KEYS, ...FOCUSED_TOKEN_KEYS]} />
        <h3>In a list</h3>
        <Map entries={LIST_KEYS} />
        <h3>On a chart of the metrics</h3>
        <Map entries={CHART_KEYS} />
      </div>
    </Dialog>
  );
}

function Map({ entries }: { entries: readonly { label: string; words: string }[] }) {
  return (
    <dl class={style["map"]}>
      {entries
        .filter(({ label }) => label !== "")
        .map(({ label, words }) => (
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
