/**
 * The step: a field to type into, buttons to its neighbours, a list of all, and their mean rewards as a small curve.
 */

import { useSession } from "../../state/useSession";
import { useLayoutEffect, useState } from "preact/hooks";
import { count, figure, whole } from "../../lib/numbers/numbers";
import { Icon, type Sign } from "../../ui/controls/Icon";
import { Popover } from "../../ui/overlay/Popover";
import { Sparkline } from "./Sparkline";
import { StepList } from "./StepList";
import style from "./StepNav.module.css";

export function StepNav() {
  const session = useSession();
  const steps = session.steps.reply.value?.steps ?? [];
  const first = steps[0];
  const last = session.steps.last.value;
  const here = session.steps.index.value;
  const step = session.place.field.step.value;
  if (step === null) return null;
  return (
    <div class={style["nav"]} role="group" aria-label="Step">
      <Turn
        sign="first"
        label="First step"
        keys="g"
        isOff={first === undefined || step === first}
        act={() => first !== undefined && session.place.go({ step: first })}
      />
      <Turn
        sign="previous"
        label="Previous step"
        keys="["
        isOff={first === undefined || step <= first}
        act={() => session.steps.goBy(-1)}
      />
      <Field step={step} />
      <Popover
        label="All steps"
        title={here < 0 ? undefined : `Step ${here + 1} of ${steps.length}`}
        buttonClass={style["of"] ?? ""}
        button={
          <>
            / {last === null ? "…" : figure(last)} <Icon sign="down" size={14} />
          </>
        }
      >
        {(close) => <StepList close={close} />}
      </Popover>
      <Turn
        sign="next"
        label="Next step"
        keys="]"
        isOff={last === null || step >= last}
        act={() => session.steps.goBy(1)}
      />
      <Turn
        sign="last"
        label="Last step"
        keys="G"
        isOff={last === null || step === last}
        act={() => last !== null && session.place.go({ step: last })}
      />
      {steps.length > 1 && <Sparkline />}
      <span class="hidden" aria-live="polite">
        {here < 0 ? "" : `Step ${step}, ${count(session.steps.reply.value?.samples[here] ?? 0, "sample")}`}
      </span>
    </div>
  );
}

function Turn({
  sign,
  label,
  keys,
  isOff,
  act,
}: {
  sign: Sign;
  label: string;
  keys: string;
  isOff: boolean;
  act: () => void;
}) {
  return (
    <button
      type="button"
      class={style["turn"]}
      aria-label={label}
      title={`${label} (${keys})`}
      aria-disabled={isOff}
      onClick={() => !isOff && act()}
    >
      <Icon sign={sign} />
    </button>
  );
}

function Field({ step }: { step: number }) {
  const session = useSession();
  const [text, setText] = useState(String(step));
  // At once: later it would overwrite newly typed text.
  useLayoutEffect(() => setText(String(step)), [step]);
  const target = whole(text);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (target !== null) session.steps.goNear(target);
    setText(String(session.place.now.peek().step ?? step));
  };
  return (
    <form onSubmit={onSubmit}>
      <input
        class={`field ${style["field"]}`}
        aria-label="Step number"
        title="Type a step and press Enter to open the nearest one"
        inputMode="numeric"
        autocomplete="off"
        aria-invalid={target === null}
        value={text}
        style={{ width: `${Math.max(4, String(step).length) + 3}ch` }}
        onInput={(event) => setText(event.currentTarget.value)}
        onFocus={(event) => event.currentTarget.select()}
        onBlur={() => setText(String(step))}
      />
    </form>
  );
}
