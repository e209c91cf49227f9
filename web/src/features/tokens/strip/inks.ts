/** The colours of the theme, for a canvas. */

const INKS = ["--heat", "--div-pos", "--div-neg", "--line-1", "--line-2", "--accent", "--warn"] as const;

type Ink = (typeof INKS)[number];

export function inksOf(element: HTMLElement): (name: Ink) => string {
  const probe = document.createElement("i");
  element.append(probe);
  const inks = new Map(
    INKS.map((name) => {
      probe.style.color = `var(${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return (name) => inks.get(name) ?? "";
}

/** The canvas in its size on the screen; null where it has none. */
export function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return null;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  return context;
}
