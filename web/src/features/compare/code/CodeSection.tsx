/** The uncommitted code of two of the compared runs side by side, file by file. */

import { useMemo, useState } from "preact/hooks";
import { getAbout } from "../../../api";
import type { RunItem } from "../../../api/types.gen";
import {
  type ComparedFile,
  comparedFiles,
  type ComparedLine,
  comparedLines,
  stretchesOf,
} from "../../../lib/diff/codeDiff";
import { count, figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { nameOf } from "../../../state/marks";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Loading, Missing } from "../../../ui/layout/EmptyState";
import { Name } from "../../../ui/text/Name";
import { Text } from "../../../ui/text/Text";
import { option, setOptions } from "../options";
import { RunName } from "../../runs";
import pageStyle from "../Compare.module.css";
import style from "./Code.module.css";

/** More files, or more lines, wait for a press. */
const FEW_FILES = 3;
const FEW_LINES = 500;
const ROWS = 1000;

const WORDS: Record<ComparedFile["state"], string> = {
  differs: "differs",
  first: "only in the first",
  second: "only in the second",
  same: "the same in both",
};

export function CodeSection({ compared }: { compared: readonly RunItem[] }) {
  const session = useSession();
  const chosen = (name: string, at: number): RunItem | undefined =>
    compared.find(({ id }) => id === option(session, name)) ?? compared[at];
  const [left, right] = [chosen("left", 0), chosen("right", 1)];
  const ids = [left?.id ?? "", right?.id ?? ""] as const;
  const loaded = useLoaded(ids.join("\n"), () => Promise.all([getAbout(ids[0]), getAbout(ids[1])]));
  const [a, b] = loaded.value ?? [null, null];
  const files = useMemo(() => (a === null || b === null ? null : comparedFiles(a.code_diff, b.code_diff)), [a, b]);
  if (left === undefined || right === undefined) return null;
  return (
    <section class={pageStyle["part"]} aria-labelledby="compare-code">
      <div class={pageStyle["tools"]}>
        <h2 id="compare-code">Code</h2>
        <Choice label="First run" name="left" value={left.id} compared={compared} />
        <Choice label="Second run" name="right" value={right.id} compared={compared} />
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {files === null ? (
        loaded.error === null && <Loading />
      ) : (
        <>
          <p class="quiet" role="status">
            {summary(files, a?.code_diff ?? "", b?.code_diff ?? "")}
          </p>
          {files.map((file, at) => (
            <File
              key={`${ids.join("\n")}\n${file.path}`}
              file={file}
              runs={[left, right]}
              isOpen={at < FEW_FILES && file.state !== "same" && file.first.length + file.second.length < FEW_LINES}
            />
          ))}
        </>
      )}
    </section>
  );
}

function summary(files: readonly ComparedFile[], first: string, second: string): string {
  if (first === "" && second === "")
    return "Neither run has a code.diff: the changes that its trainer had not committed, which some trainers keep.";
  if (first === second) return `Both runs have the same code.diff, of ${count(files.length, "file")}.`;
  if (first === "" || second === "") return `Only the ${first === "" ? "second" : "first"} run has a code.diff.`;
  return `${count(files.filter(({ state }) => state !== "same").length, "file")} of ${figure(files.length)} differ.`;
}

interface ChoiceProps {
  label: string;
  name: "left" | "right";
  value: string;
  compared: readonly RunItem[];
}

function Choice({ label, name, value, compared }: ChoiceProps) {
  const session = useSession();
  return (
    <label>
      <span class="hidden">{label}</span>
      <select
        class="field"
        value={value}
        onChange={(event) => setOptions(session, { [name]: event.currentTarget.value })}
      >
        {compared.map((item) => (
          <option key={item.id} value={item.id}>
            {harmless(nameOf(item))}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FileProps {
  file: ComparedFile;
  runs: readonly [RunItem, RunItem];
  isOpen: boolean;
}

function File({ file, runs, isOpen: opens }: FileProps) {
  const [isOpen, open] = useState(opens);
  return (
    <details class={style["file"]} open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        <code>
          <Name text={file.path === "" ? "before the first file" : file.path} />
        </code>{" "}
        <small class={file.state === "same" ? "quiet" : style["state"]}>{WORDS[file.state]}</small>
      </summary>
      {isOpen && <Lines file={file} runs={runs} />}
    </details>
  );
}

function Lines({ file, runs }: Pick<FileProps, "file" | "runs">) {
  const [isWhole, whole] = useState(file.state === "same");
  const [most, more] = useState(ROWS);
  const lines = useMemo(() => comparedLines(file.first, file.second), [file]);
  const stretches = useMemo(() => (isWhole ? [{ isFolded: false, lines }] : stretchesOf(lines)), [lines, isWhole]);
  let room = most;
  return (
    <div class={style["sides"]}>
      <p class={style["head"]}>
        <RunName item={runs[0]} />
        <RunName item={runs[1]} />
      </p>
      {stretches.map((one, at) => {
        const shown = one.isFolded ? [] : one.lines.slice(0, Math.max(0, room));
        room -= shown.length;
        if (one.isFolded)
          return (
            <button key={at} type="button" class={`action ${style["fold"]}`} onClick={() => whole(true)}>
              {`… ${count(one.lines.length, "line")} the same in both: show`}
            </button>
          );
        return shown.map((line, row) => <Line key={`${at} ${row}`} line={line} />);
      })}
      {room <= 0 && lines.length > most && (
        <button type="button" class="button" onClick={() => more(most + 5 * ROWS)}>
          Show more lines
        </button>
      )}
    </div>
  );
}

function Line({ line: { first, second, isSame } }: { line: ComparedLine }) {
  return (
    <div class={`${style["line"]} ${isSame ? style["same"] : ""}`}>
      {first === null ? <i /> : <code class={isSame ? undefined : style["other"]}>{textOf(first)}</code>}
      {second === null ? <i /> : <code class={isSame ? undefined : style["own"]}>{textOf(second)}</code>}
    </div>
  );
}

/** An empty line has a height, too. */
const textOf = (line: string) => <Text text={line === "" ? " " : line} />;
