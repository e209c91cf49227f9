/** Chooses the current run, the overlaid runs, and the marks on each. */

import { useSession } from "../../../state/useSession";
import { useRef, useState } from "preact/hooks";
import type { RunItem } from "../../../api/types.gen";
import { count, figure } from "../../../lib/numbers/numbers";
import { colourOf, nameOf, runMark } from "../../../state/marks";
import { runOf, runs, samplesOf } from "../../../state/runs";
import { Icon } from "../../../ui/controls/Icon";
import { Popover } from "../../../ui/overlay/Popover";
import { useVirtual } from "../../../ui/hooks/useVirtual";
import { PAGE_TITLES } from "../../pages";
import { RunEditor } from "./RunEditor";
import { RunRow } from "./RunRow";
import { matchingRuns } from "../runSearch";
import { Text } from "../../../ui/text/Text";
import style from "./RunPicker.module.css";

const ROW_PX = 36;

export function RunPicker() {
  const session = useSession();
  const item = session.run.now.value;
  if (item === null) return <span class={style["title"]}>{PAGE_TITLES[session.place.field.page.value] ?? "Runs"}</span>;
  const button = (
    <>
      <i class={style["dot"]} style={{ background: `var(--run-${colourOf(item.id)})` }} />
      <span class={`clip ${style["name"]}`}>
        <Text text={nameOf(item)} />
      </span>
      <small>{count(samplesOf(item), "sample")}</small>
      {session.place.field.over.value.length > 0 && (
        <small class={style["more"]} title="Overlaid runs">
          +{session.place.field.over.value.length}
        </small>
      )}
      <Icon sign="down" size={14} />
    </>
  );
  return (
    <Popover label="Run" title={item.path} button={button} buttonClass={style["picker"] ?? ""}>
      {(close) => <Picker close={close} />}
    </Popover>
  );
}

function Picker({ close }: { close: () => void }) {
  const [edited, edit] = useState<string | null>(null);
  const item = runOf(edited);
  if (item !== undefined) return <RunEditor item={item} done={() => edit(null)} />;
  return <RunList close={close} edit={edit} />;
}

function RunList({ close, edit }: { close: () => void; edit: (id: string) => void }) {
  const session = useSession();
  const [text, setText] = useState("");
  const [showsHidden, showHidden] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const all = runs.value ?? [];
  const hidden = all.filter(({ id }) => runMark(id).hidden).length;
  const isShown = ({ id }: RunItem): boolean =>
    showsHidden ||
    text.trim() !== "" ||
    id === session.place.now.peek().run ||
    session.place.now.peek().over.includes(id) ||
    !runMark(id).hidden;
  const result = matchingRuns(all.filter(isShown), text);
  const virtual = useVirtual({ count: result.length, scroller, height: () => ROW_PX, shape: result.length });

  const focusRow = (index: number): void => {
    virtual.scrollToIndex(index, { align: "auto" });
    const row = (): HTMLElement | null | undefined =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${index}"] a`);
    const drawn = row();
    // At once, because the next key belongs to this row; a row outside the view is drawn only after scrolling.
    if (drawn) drawn.focus();
    else requestAnimationFrame(() => row()?.focus());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const turn = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (turn === 0 || !(event.target instanceof Element)) return;
    event.preventDefault();
    const row = event.target.closest<HTMLElement>("[data-row]")?.dataset["row"];
    const to = row === undefined ? (turn === 1 ? 0 : result.length - 1) : Number(row) + turn;
    if (to < 0) scroller.current?.parentElement?.querySelector("input")?.focus();
    else if (to < result.length) focusRow(to);
  };
  const open = (item: RunItem | undefined): void => {
    if (item === undefined) return;
    close();
    session.place.go({ run: item.id });
  };

  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- keys lead from the field to the rows
    <div class={style["runs"]} onKeyDown={onKeyDown}>
      <input
        class={`field ${style["field"]}`}
        aria-label="Find a run"
        placeholder={all.length > 1 ? `Find among ${figure(all.length)} runs` : "Find a run"}
        autocomplete="off"
        spellcheck={false}
        ref={(element) => {
          if (element !== null && text === "" && document.activeElement?.closest("[data-row]") === null)
            element.focus();
        }}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault(); // otherwise the key would press the newly focused button
          open(result[0]);
        }}
      />
      <div class={style["rows"]} ref={scroller}>
        {result.length === 0 && <p class={style["none"]}>No run matches.</p>}
        <ul class={style["space"]} style={{ height: `${virtual.getTotalSize()}px` }} aria-label="Runs">
          {virtual.getVirtualItems().map(({ index, start }) => {
            const item = result[index];
            return item === undefined ? null : (
              <RunRow key={item.id} item={item} row={index} top={start} close={close} edit={edit} />
            );
          })}
        </ul>
      </div>
      <p class={style["foot"]}>
        <a
          class="action"
          href={session.place.href({ page: "runs", run: null })}
          onClick={(event) => {
            session.place.onLink({ page: "runs", run: null })(event);
            close();
          }}
        >
          All runs in a table
        </a>
        {hidden > 0 && (
          <button type="button" class="action" aria-pressed={showsHidden} onClick={() => showHidden(!showsHidden)}>
            {figure(hidden)} hidden
          </button>
        )}
        <small>Press a square to overlay a run's curves</small>
      </p>
    </div>
  );
}
