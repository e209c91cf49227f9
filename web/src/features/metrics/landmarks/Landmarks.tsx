/** Small marks above a chart and at its foot, each with its words and a link to the samples of its step. */

import { useMemo, useState } from "preact/hooks";
import type { Place } from "../../../lib/address/address";
import { count } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useRoving } from "../../../ui/hooks/useRoving";
import type { Curve, Frame } from "../../charts";
import { samplesOf } from "../Alarms";
import { type Landmark, type Spot, spotsOf } from "./landmarks";
import style from "./Landmarks.module.css";

interface Props {
  title: string;
  landmarks: readonly Landmark[];
  curve: Curve;
  /** The drawn frame; null until the chart is drawn. */
  frame: Frame | null;
  /** The rollouts of a step; null for a run without samples, whose marks lead nowhere. */
  rollouts: ((step: number) => Partial<Place>) | null;
}

export function Landmarks({ title, landmarks, curve, frame, rollouts }: Props) {
  const session = useSession();
  const [shown, show] = useState<Spot | null>(null);
  const spots = useMemo(() => (frame === null ? [] : spotsOf(landmarks, curve, frame)), [landmarks, curve, frame]);
  const roving = useRoving(spots.length);
  if (frame === null || spots.length === 0) return null;
  const placeOf = ({ alarm, step }: Landmark): Partial<Place> => {
    const run = session.run.now.value;
    if (rollouts === null || run === null) return {};
    return alarm === null ? rollouts(step) : samplesOf(session, alarm, run);
  };
  return (
    <div class={style["marks"]} role="group" aria-label={`Marks of ${title}`}>
      {spots.map((spot, at) => {
        const { tabIndex, onFocus, onKeyDown } = roving(at);
        const words = spot.lines.map(harmless).join("; ");
        const to = placeOf(spot.main);
        return (
          <a
            key={`${spot.kind} ${spot.px}`}
            href={session.place.href(to)}
            onClick={session.place.onLink(to)}
            class={style["mark"]}
            style={{ left: `${spot.px}px` }}
            data-kind={spot.kind}
            aria-label={words}
            tabIndex={tabIndex}
            onKeyDown={onKeyDown}
            onFocus={() => {
              onFocus();
              show(spot);
            }}
            onBlur={() => show(null)}
            onPointerEnter={() => show(spot)}
            onPointerLeave={() => show(null)}
          />
        );
      })}
      {shown !== null && (
        <div
          class={style["words"]}
          data-kind={shown.kind}
          style={
            shown.px < frame.left + frame.width / 2
              ? { left: `${shown.px - 12}px` }
              : { right: `calc(100% - ${shown.px + 12}px)` }
          }
        >
          {shown.lines.map((line) => (
            <span key={line}>{harmless(line)}</span>
          ))}
        </div>
      )}
    </div>
  );
}

const WORDS = { saved: "checkpoint", resumed: "resume", hint: "hint", error: "error" };

/** The meaning of each kind of mark in the charts. */
export function MarkKinds({ landmarks, leftOut }: { landmarks: readonly Landmark[]; leftOut: number }) {
  const kinds = Object.entries(WORDS).filter(([kind]) => landmarks.some((one) => one.kind === kind));
  return kinds.length === 0 ? null : (
    <ul class={style["kinds"]} aria-label="Marks of charts">
      {kinds.map(([kind, words]) => (
        <li key={kind}>
          <i class={style["mark"]} data-kind={kind} />
          {words}
        </li>
      ))}
      {leftOut > 0 && <li>{count(leftOut, "earlier mark")} left out</li>}
    </ul>
  );
}
