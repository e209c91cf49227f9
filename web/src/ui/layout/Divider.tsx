/**
 * The edge of a pane or of a column: drag it, or move it with the arrow keys; a double click restores its usual width.
 */

import style from "./Divider.module.css";

interface Props {
  label: string;
  width: number;
  limits: { usual: number; least: number; most: number };
  /** The direction of growth: 1 to the right, -1 to the left. */
  way?: 1 | -1;
  choose: (width: number) => void;
  /** Replaces the look of a pane's edge. */
  class?: string | undefined;
}

const STEP_PX = 16;

export function Divider({ label, width, limits, way = 1, choose, class: className }: Props) {
  const set = (wanted: number): void => choose(Math.min(limits.most, Math.max(limits.least, Math.round(wanted))));

  const onPointerDown = (event: PointerEvent): void => {
    const handle = event.currentTarget;
    if (!(handle instanceof HTMLElement)) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const start = event.clientX;
    const move = (at: PointerEvent): void => set(width + (at.clientX - start) * way);
    const end = (): void => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("lostpointercapture", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", end);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const turn = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (turn === 0) return;
    event.preventDefault();
    event.stopPropagation();
    set(width + turn * way * STEP_PX);
  };

  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a focusable separator is a widget
    <div
      class={className ?? `${style["divider"]} ${way === 1 ? style["right"] : style["left"]}`}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={limits.least}
      aria-valuemax={limits.most}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onDblClick={() => choose(limits.usual)}
      onKeyDown={onKeyDown}
    />
  );
}
