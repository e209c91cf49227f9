/** The curves of a chart, with the values at the pointer and the landmarks of the run. */

import { useState } from "preact/hooks";
import { acrossOf } from "../../../lib/charts/across";
import type { Placed } from "../../../lib/charts/layout";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { type Bounds, type Curve, CurveChart, type Frame, type Range } from "../../charts";
import { type Asked, hasMarks, isLog, limitsOf, setOption, zoomText } from "../choice";
import type { Landmark } from "../landmarks/landmarks";
import { Landmarks } from "../landmarks/Landmarks";
import style from "../Metrics.module.css";
import type { Line, Row } from "./lines";
import { Readout } from "./Readout";
import { rolloutsAt } from "./rollouts";

interface Props {
  entry: Placed;
  asked: Asked;
  what: string;
  curve: Curve;
  bounds: Bounds;
  colour: number;
  others: readonly Line[];
  pointed: number | null;
  point: (step: number | null) => void;
  /** The text of x; empty for the step. */
  x: string;
  zoom: Range | null;
  reach: Range | null;
  landmarks: readonly Landmark[];
  isAside: boolean;
  frame: Frame | null;
  setFrame: (frame: Frame) => void;
  /** What the readout says of a step. */
  readout: (step: number) => { across: string; value: string; average: string; rows: readonly Row[] };
}

export function Plot(props: Props) {
  const { entry, asked, what, curve, bounds, colour, others, pointed, point, x, zoom, reach, isAside, frame } = props;
  const session = useSession();
  const [isHere, setHere] = useState(false);
  const hasRollouts = (session.run.now.value?.splits.length ?? 0) > 0;
  return (
    <div
      class={style["plot"]}
      onPointerEnter={() => setHere(true)}
      onPointerLeave={({ pointerType }) => setHere(pointerType === "touch")}
    >
      {isHere && pointed !== null && (
        <Readout curve={curve} frame={frame} pointed={pointed} {...props.readout(pointed)} />
      )}
      <CurveChart
        what={what}
        curve={curve}
        bounds={bounds}
        colour={colour}
        others={others}
        current={session.place.lateStep.value}
        hover={point}
        across={acrossOf(x)}
        pointed={pointed}
        zoom={zoom}
        reach={reach}
        onZoom={isAside ? null : (range) => setOption(session, { zoom: range === null ? "" : zoomText(range, x) })}
        limits={limitsOf(asked)}
        isLog={isLog(asked)}
        {...(isAside
          ? { isOfStep: true }
          : { open: (pressed: number) => hasRollouts && session.place.go(rolloutsAt(session, entry, pressed)) })}
        onDrawn={props.setFrame}
      />
      {hasMarks(asked) && !isAside && (
        <Landmarks
          title={harmless(entry.title)}
          landmarks={props.landmarks}
          curve={curve}
          frame={frame}
          rollouts={hasRollouts ? (of) => rolloutsAt(session, entry, of) : null}
        />
      )}
    </div>
  );
}
