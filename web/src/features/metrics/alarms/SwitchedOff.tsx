/** Switches a rule off with a reason, and lists those that are off. */

import { useState } from "preact/hooks";
import { harmless } from "../../../lib/text/invisible";
import { rulesOff, switchRule } from "./rulesOff";
import style from "../Metrics.module.css";

const REASON_CHARS = 300;
const focused = (field: HTMLInputElement | null): void => field?.focus();

export function SwitchOff({ run, rule }: { run: string; rule: string }) {
  const [isAsking, ask] = useState(false);
  const [reason, write] = useState("");
  if (!isAsking)
    return (
      <button
        type="button"
        class="action"
        title={`Raise no alarm of the rule ${rule} for this run`}
        onClick={() => ask(true)}
      >
        Switch off …
      </button>
    );
  return (
    <form
      class={style["reason"]}
      onSubmit={(event) => {
        event.preventDefault();
        switchRule(run, rule, reason.trim());
      }}
    >
      <input
        class="field"
        aria-label={`Why ${rule} is switched off`}
        placeholder="Why?"
        maxLength={REASON_CHARS}
        value={reason}
        ref={focused}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          ask(false);
        }}
      />
      <button type="submit" class="button">
        Switch off
      </button>
    </form>
  );
}

export function SwitchedOff({ run }: { run: string }) {
  const off = [...rulesOff(run)];
  if (off.length === 0) return null;
  return (
    <>
      <h3 class={style["off"]}>Switched off</h3>
      <ul class={style["alarms"]} aria-label="Rules that are switched off">
        {off.map(([rule, reason]) => (
          <li key={rule}>
            <p>
              <code>{harmless(rule)}</code>
              {reason === "" ? "" : `: ${harmless(reason)}`}
            </p>
            <button type="button" class="action" onClick={() => switchRule(run, rule, null)}>
              Switch on<span class="hidden">: {harmless(rule)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
