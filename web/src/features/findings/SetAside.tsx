/** Sets a finding aside as no hack, with a reason and a name, and lists all findings that were set aside. */

import { useState } from "preact/hooks";
import type { Finding } from "../../api/types.gen";
import { harmless } from "../../lib/text/invisible";
import { findingsAside, nameOfFinding, setAside } from "../../state/run/findings";
import { Popover } from "../../ui/overlay/Popover";
import style from "./Findings.module.css";

const WHY_CHARS = 300;
const WHO_CHARS = 60;
const focused = (field: HTMLInputElement | null): void => field?.focus();

export function NotAHack({ run, of }: { run: string; of: Finding }) {
  return (
    <Popover
      label={`${harmless(of.title)}:`}
      title="Set it aside for this run, with a reason"
      button="Not a hack"
      buttonClass="action"
    >
      {() => <Reason run={run} of={of} />}
    </Popover>
  );
}

function Reason({ run, of }: { run: string; of: Finding }) {
  const before = [...findingsAside(run).values()].at(-1)?.who ?? "";
  const [why, writeWhy] = useState("");
  const [who, writeWho] = useState(before);
  return (
    <form
      class={style["reason"]}
      onSubmit={(event) => {
        event.preventDefault();
        setAside(run, nameOfFinding(of), { why: why.trim(), who: who.trim(), since: Date.now() });
      }}
    >
      <input
        class="field"
        aria-label="Why it is not a hack"
        placeholder="Why?"
        maxLength={WHY_CHARS}
        value={why}
        ref={focused}
        onInput={(event) => writeWhy(event.currentTarget.value)}
      />
      <input
        class="field"
        aria-label="Your name"
        placeholder="Your name"
        maxLength={WHO_CHARS}
        value={who}
        onInput={(event) => writeWho(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Set aside
      </button>
    </form>
  );
}

/** The findings that a person set aside; each can be taken back. */
export function Aside({ run, all }: { run: string; all: readonly Finding[] }) {
  const aside = findingsAside(run);
  const known = all.filter((one) => aside.has(nameOfFinding(one)));
  if (known.length === 0) return null;
  return (
    <section aria-label="Not a hack" class={style["aside"]}>
      <h2>Not a hack</h2>
      <ul>
        {known.map((one) => {
          const name = nameOfFinding(one);
          const { why = "", who = "", since = 0 } = aside.get(name) ?? {};
          const by = [who, since === 0 ? "" : new Date(since).toISOString().slice(0, 10)].filter((text) => text !== "");
          return (
            <li key={name}>
              <b>{harmless(one.title)}</b>
              <span>{harmless(why)}</span>
              <span class="quiet">{harmless(by.join(", "))}</span>
              <button type="button" class="action" onClick={() => setAside(run, name, null)}>
                Undo<span class="hidden">: {harmless(one.title)}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
