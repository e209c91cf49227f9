/** A call and its result, as one block: the call as a person reads it, what came of it, and the result. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CallResult, PartView } from "../../../api/types.gen";
import { count, figure } from "../../../lib/numbers/numbers";
import { took } from "../../../lib/numbers/duration";
import { render } from "../../../state/browser/textOptions";
import { Hidden } from "../../../ui/layout/Hidden";
import { Text } from "../../../ui/text/Text";
import { Lines } from "./Lines";
import style from "./Call.module.css";

/** An edit with more lines shows its first ones. */
const EDIT_LINES = 30;

interface Props {
  part: PartView;
  at: string;
  /** The result, if it stands on the same page of turns. */
  children: ComponentChildren;
}

export function Call({ part, at, children }: Props) {
  const session = useSession();
  const { call, summary, result } = part;
  const [isRaw, setRaw] = useState(false);
  const isMarked = useComputed(() => session.highlights.isMarked(at)).value;
  if (call === null || summary === null)
    return (
      <div class={style["call"]}>
        <CallBody>
          <Text text={part.text} at={at} />
        </CallBody>
      </div>
    );
  const isAsWritten = isRaw || isMarked || render.value.visible;
  const isFailed = call.error !== "" || result?.outcome === "failed" || result?.outcome === "timeout";
  return (
    <div
      class={`${style["call"]} ${isFailed ? style["failed"] : ""}`}
      role="group"
      aria-label={`Call of ${call.name || "a tool without a name"}`}
    >
      <div class={style["head"]}>
        <b>
          <Text text={call.name || "(no name)"} />
        </b>
        <span class={style["line"]} title={call.id === "" ? undefined : `call ${call.id}`}>
          {summary.form === "command" && "$ "}
          <Text text={summary.line} />
        </span>
        {call.arguments !== "" && (
          <button
            type="button"
            class={style["raw"]}
            aria-pressed={isRaw}
            title="Show the arguments as the model wrote them"
            onClick={() => setRaw(!isRaw)}
          >
            raw
          </button>
        )}
        <span class={style["facts"]}>
          {!part.closed && <span>cut off</span>}
          {(summary.added ?? 0) > 0 && <span class={style["added"]}>+{figure(summary.added)}</span>}
          {(summary.removed ?? 0) > 0 && <span class={style["removed"]}>−{figure(summary.removed)}</span>}
          {result !== null && <Facts result={result} />}
        </span>
      </div>
      {isAsWritten ? (
        <CallBody>
          <Text text={call.arguments} at={at} />
        </CallBody>
      ) : summary.form === "edit" ? (
        <Edit body={summary.body} />
      ) : (
        summary.body !== "" && (
          <CallBody>
            <Lines part={{ text: summary.body, shift: 0, styles: [], cut: 0 }} what="arguments" />
          </CallBody>
        )
      )}
      {call.error !== "" && (
        <CallBody>
          <span class={style["bad"]}>
            <Text text={call.error} />
          </span>
        </CallBody>
      )}
      {children}
    </div>
  );
}

/** A part below the head: arguments, an error, or the result. */
export function CallBody({ label, children }: { label?: string; children: ComponentChildren }) {
  return (
    <div class={style["body"]} role={label === undefined ? undefined : "group"} aria-label={label}>
      {children}
    </div>
  );
}

/** The outcome, in words; nothing where the record says nothing. */
const OUTCOMES: Readonly<Record<CallResult["outcome"], string>> = {
  ok: "ok",
  failed: "failed",
  timeout: "timed out",
  unknown: "",
};

function Facts({ result }: { result: CallResult }) {
  const { outcome, exit_code: code, duration_s: seconds } = result;
  const word = outcome === "failed" && code !== null ? `exit ${figure(code)}` : OUTCOMES[outcome];
  return (
    <>
      {word !== "" && <b class={outcome === "ok" ? style["ok"] : style["bad"]}>{word}</b>}
      {result.lines > 1 && <span>{count(result.lines, "line")}</span>}
      {seconds !== null && <span>{took(seconds)}</span>}
    </>
  );
}

function Edit({ body }: { body: string }) {
  const session = useSession();
  const lines = body.split("\n");
  const [isAll, setAll] = useState(lines.length <= EDIT_LINES + 10);
  if (body === "") return null;
  const first = isAll ? lines : lines.slice(0, EDIT_LINES);
  return (
    <CallBody>
      <Changes lines={first} />
      {!isAll && (
        <>
          <button type="button" class="action" onClick={() => setAll(true)}>
            Show all {figure(lines.length)} lines
          </button>
          {session.sample.isNative.value && (
            <Hidden isHidden onFound={() => setAll(true)}>
              <Changes lines={lines.slice(EDIT_LINES)} />
            </Hidden>
          )}
        </>
      )}
    </CallBody>
  );
}

function Changes({ lines }: { lines: readonly string[] }) {
  return (
    <>
      {lines.map((line, i) => (
        <div
          key={i}
          class={line.startsWith("+") ? style["added"] : line.startsWith("-") ? style["removed"] : undefined}
        >
          <Text text={line || " "} />
        </div>
      ))}
    </>
  );
}
