/** Mean reward by step as a small curve: press or drag to go to a step. The list of steps has the same as text. */

import { useSession } from "../../state/useSession";
import { useMemo, useRef } from "preact/hooks";
import { path } from "../../lib/numbers/curves";
import { finite, score } from "../../lib/numbers/numbers";
import { colourOf } from "../../state/marks";
import style from "./Sparkline.module.css";

const WIDTH = 200;
const HEIGHT = 22;
const EDGE = 3;

export function Sparkline() {
  const session = useSession();
  const reply = session.steps.reply.value;
  const svg = useRef<SVGSVGElement>(null);
  const curve = useMemo(
    () => path(reply?.steps ?? [], (reply?.reward_mean ?? []).map(finite), WIDTH, HEIGHT - 2 * EDGE),
    [reply],
  );
  const first = reply?.steps[0] ?? 0;
  const last = reply?.steps.at(-1) ?? 0;
  const here = session.place.field.step.value ?? first;
  const x = last === first ? WIDTH / 2 : ((Math.min(last, Math.max(first, here)) - first) / (last - first)) * WIDTH;
  const mean = reply?.reward_mean[session.steps.index.value];

  const point = (event: PointerEvent, isStart: boolean): void => {
    const box = svg.current?.getBoundingClientRect();
    if (box === undefined || (!isStart && event.buttons !== 1)) return;
    session.steps.goNear(
      first + ((event.clientX - box.left) / box.width) * (last - first),
      isStart ? "push" : "replace",
    );
  };

  const current = mean === undefined ? "" : `: ${score(mean, "none")} at step ${here}`;
  return (
    <svg
      ref={svg}
      class={style["spark"]}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        point(event, true);
      }}
      onPointerMove={(event) => point(event, false)}
    >
      <title>{`Mean reward by step${current}. Press or drag to go to a step.`}</title>
      <rect width={WIDTH} height={HEIGHT} fill="transparent" />
      <path
        d={curve}
        transform={`translate(0 ${EDGE})`}
        vector-effect="non-scaling-stroke"
        style={{ stroke: `var(--run-${colourOf(session.place.field.run.value ?? "")})` }}
      />
      <line x1={x} x2={x} y1="0" y2={HEIGHT} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
