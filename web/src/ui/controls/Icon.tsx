/** The few icons of the page, drawn in the colour of the text. Each accompanies words or has them in its label. */

const PATHS = {
  rollouts: "M3 4h12M3 9h12M3 14h8",
  list: "M7 4h8M7 9h8M7 14h8M3 4h.01M3 9h.01M3 14h.01",
  problems: "M9 3l7 12H2zM9 8v3M9 13h.01",
  discarded: "M4 5h10M7 5V3h4v2M5 5l1 11h6l1-11M8 8v5M10 8v5",
  findings: "M5 16V3M5 3h9l-3 3.5 3 3.5H5",
  evals: "M3 3h3v3H3zM8 3h3v3H8zM13 3h2v3h-2M3 8h3v3H3zM8 8h3v3H8M13 8h2v3h-2M3 13h3v2M8 13h3v2M13 13h2v2",
  tokens: "M2 4h6v4H2zM10 4h6v4h-6zM2 10h3v4H2zM7 10h9v4H7z",
  compare: "M3 3h5v12H3zM10 3h5v12h-5zM5 6h1M5 9h1M12 6h1M12 9h1M12 12h1",
  report: "M4 2h8l3 3v11H4zM7 8h5M7 11h5",
  run: "M9 2v3M9 13v3M2 9h3M13 9h3M9 6a3 3 0 1 0 0 6a3 3 0 0 0 0-6",
  settings: "M3 5h6M13 5h2M3 13h2M9 13h6M11 3v4M7 11v4",
  bookmark: "M5 3h8v12l-4-3-4 3z",
  marked: "M5 3h8v12l-4-3-4 3z",
  note: "M3 4h12v8H9l-3 3v-3H3z",
  light: "M9 6a3 3 0 1 0 0 6a3 3 0 0 0 0-6M9 2v1M9 15v1M2 9h1M15 9h1M4 4l.7.7M13.3 13.3l.7.7M4 14l.7-.7M13.3 4.7l.7-.7",
  dark: "M14 11A6 6 0 1 1 7 4a5 5 0 0 0 7 7z",
  search: "M8 3a5 5 0 1 0 0 10a5 5 0 0 0 0-10M12 12l4 4",
  more: "M4 9h.01M9 9h.01M14 9h.01",
  charts: "M2 13l4-5 4 3 6-7",
  panel: "M3 4h12v10H3zM7 4v10",
  render: "M2.5 14l4-10 4 10M4 10.5h5M13.5 10a2 2 0 1 0 0 4a2 2 0 0 0 0-4M15.5 9.5v4.5",
  link: "M7.5 10.5l3-3M6.5 8L4.8 9.7a2.5 2.5 0 0 0 3.5 3.5L10 11.5M8 6.5l1.7-1.7a2.5 2.5 0 0 1 3.5 3.5L11.5 10",
  unfold: "M5 7l4-4 4 4M5 11l4 4 4-4",
  fold: "M5 3l4 4 4-4M5 15l4-4 4 4",
  columns: "M3 4h12v10H3zM9 4v10",
  first: "M10 5L6 9l4 4M14 5l-4 4 4 4",
  previous: "M11 5L7 9l4 4",
  next: "M7 5l4 4-4 4",
  last: "M8 5l4 4-4 4M4 5l4 4-4 4",
  download: "M9 3v8M5.5 8L9 11.5 12.5 8M3 15h12",
  share: "M9 11V3M5.5 6L9 2.5 12.5 6M5 9H3.5v6.5h11V9H13",
  down: "M6 8l3 3 3-3",
} as const;

export type Sign = keyof typeof PATHS;

const FILLED: ReadonlySet<Sign> = new Set(["marked"]);

export function Icon({ sign, size = 18 }: { sign: Sign; size?: number }) {
  return (
    <svg
      viewBox="0 0 18 18"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[sign]} fill={FILLED.has(sign) ? "currentColor" : undefined} />
    </svg>
  );
}
