/** Switches a rule off with a reason, and lists those that are off. */

import { useState } from "preact/hooks";
import { harmless } from "../../../lib/text/invisible";
import { Popover } from "../../../ui/overlay/Popover";
import { rulesOff, switchRule } from "./rulesOff";
import style from "../Metrics.module.css";

const REASON_CHARS = 300;
const focused = (field: HTMLInputElement | null): void => field?.focus();

/** A small menu beside the links of an alarm; it asks for the reason. */
export function SwitchOff({ run, rule, title }: { run: string; rule: string; title: string }) {
  return (
    <Popover
      label={`Menu of ${title}`}
      title={`Switch off the rule ${rule}`}
      button="⋯"
      buttonClass={`action ${style["more"]}`}
      align="right"
    >
      {() => <Reason run={run} rule={rule} />}
    </Popover>
  );
}

function Reason({ run, rule }: { run: string; rule: string }) {
  const [reason, write] = useState("");
  return (
    <form
      class={style["reason"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (reason.trim() !== "") switchRule(run, rule, reason.trim());
      }}
    >
      <p>
        Raise no alarm of the rule <code>{harmless(rule)}</code> for this run.
      </p>
      <input
        class="field"
        aria-label={`Why ${rule} is switched off`}
        placeholder="Why?"
        maxLength={REASON_CHARS}
        value={reason}
        ref={focused}
        onInput={(event) => write(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={reason.trim() === ""}>
        Switch off
      </button>
    </form>
  );
}

/** `of` names the run; empty for a run alone. */
export function SwitchedOff({ run, of }: { run: string; of: string }) {
  const off = [...rulesOff(run)];
  if (off.length === 0) return null;
  return (
    <>
      <h3 class={style["off"]}>Switched off{of === "" ? "" : ` in ${harmless(of)}`}</h3>
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
