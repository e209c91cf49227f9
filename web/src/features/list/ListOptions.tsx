/** The options of the list: columns, preview, tooltips; and its export. */

import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import { samplesCsv } from "../../api";
import type { Mode } from "../../lib/address/address";
import { queryOf } from "../../lib/list/scope";
import { chooseView, view } from "../../state/browser/listView";
import { Download } from "../../ui/controls/Download";
import { Icon } from "../../ui/controls/Icon";
import { Popover } from "../../ui/overlay/Popover";
import { Segments } from "../../ui/controls/Segments";
import { openExport } from "../export";
import style from "./ListOptions.module.css";

const PREVIEWS = [
  { value: "response", label: "Start", title: "How the response begins" },
  { value: "end", label: "End", title: "How the response ends" },
  { value: "prompt", label: "Prompt", title: "The last question of the prompt" },
] as const;

/** A longer list of columns has a search field. */
const MOST = 200;

export function Gear({ mode }: { mode: Mode }) {
  return (
    <Popover
      label="List options"
      title="Columns, previews, export"
      buttonClass={`action ${style["gear"]}`}
      button={<Icon sign="settings" size={16} />}
      align="right"
    >
      {(close) => <Panel mode={mode} close={close} />}
    </Popover>
  );
}

/** The focus moves to the gear first, so that the card returns it there. */
function leaveFor(close: () => void, kind: "html" | "jsonl"): void {
  close();
  openExport("samples", kind);
}

function Panel({ mode, close }: { mode: Mode; close: () => void }) {
  const session = useSession();
  const [text, setText] = useState("");
  const { preview, hasTooltips } = view.value;
  const isUsual = session.view.shownColumns.value === null;
  const chosen =
    session.view.shownColumns.value ??
    (mode === "groups"
      ? session.strips.now.value.strips.map(({ name }) => name)
      : (session.list.now.value?.columns ?? []));
  const isShown = (name: string): boolean => chosen.includes(name) && !(mode === "table" && session.view.isIdle(name));
  const isFitting = (kind: string): boolean => mode !== "groups" || kind === "number";
  const names = session.columns.all.value.filter(({ kind }) => isFitting(kind)).map(({ name }) => name);
  const shown = chosen.filter(isShown);
  const target = text.trim().toLowerCase();
  const result = [...chosen.filter((name) => !names.includes(name)), ...names].filter((name) =>
    `${name} ${session.columns.label(name)}`.toLowerCase().includes(target),
  );
  const of = session.list.scope.value;
  return (
    <div class={style["panel"]}>
      <input
        class="field"
        aria-label="Find a column"
        placeholder="Find a column"
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <fieldset class={style["columns"]}>
        <legend class="hidden">Columns</legend>
        {result.slice(0, MOST).map((name) => {
          const at = chosen.indexOf(name);
          return (
            <div key={name} class={style["column"]}>
              <label title={name}>
                <input
                  type="checkbox"
                  checked={isShown(name)}
                  onChange={() => {
                    const others = chosen.filter((one) => one !== name && isShown(one));
                    session.view.chooseColumns(isShown(name) ? others : [...others, name]);
                  }}
                />
                <span class="clip">{session.columns.label(name)}</span>
                {session.view.isEmpty(name) && <small class="quiet">no sample has it</small>}
              </label>
              {at > 0 && isShown(name) && (
                <button
                  type="button"
                  class="action"
                  aria-label={`Move ${session.columns.label(name)} up`}
                  title="Move up"
                  onClick={() => session.view.chooseColumns(forward(chosen, at))}
                >
                  ↑
                </button>
              )}
            </div>
          );
        })}
        {result.length === 0 && <p class="quiet">No column matches.</p>}
        {result.length > MOST && <p class="quiet">{result.length - MOST} more: type to find them.</p>}
      </fieldset>
      {mode !== "table" && !isUsual && (
        <button type="button" class="action" onClick={() => session.view.chooseColumns(null)}>
          Restore default columns
        </button>
      )}
      {mode !== "table" && (
        <div class={style["line"]}>
          <span>Preview the</span>
          <Segments
            label="Preview"
            options={PREVIEWS}
            value={preview ?? session.columns.usualPreview.value}
            choose={(value) => chooseView({ preview: value })}
          />
        </div>
      )}
      <label class={style["line"]}>
        <input
          type="checkbox"
          checked={hasTooltips}
          onChange={(event) => chooseView({ hasTooltips: event.currentTarget.checked })}
        />
        <span>Tooltips with whole prompts and previews</span>
      </label>
      {of !== null && (
        <Download
          class="action"
          href={samplesCsv(of.run, { ...queryOf(of), column: mode === "table" ? [...shown, "response"] : chosen })}
        >
          All samples of the list as CSV
        </Download>
      )}
      {of !== null && (
        <button type="button" class="action" onClick={() => leaveFor(close, "html")}>
          Report of these samples (HTML)
        </button>
      )}
      {of !== null && (
        <button type="button" class="action" onClick={() => leaveFor(close, "jsonl")}>
          Export whole texts, or a Python call
        </button>
      )}
    </div>
  );
}

function forward(names: readonly string[], at: number): readonly string[] {
  const without = names.toSpliced(at, 1);
  return without.toSpliced(at - 1, 0, names[at] ?? "");
}
