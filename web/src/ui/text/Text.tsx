/** Text of any length, verbatim, in text nodes, with marked places. */

import { useSession } from "../../state/useSession";
import { useComputed } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { PartView, Span } from "../../api/types.gen";
import { WHOLE_CHARS } from "../../lib/text/chunks";
import { visiblePlaces } from "../../lib/text/cuts";
import { specials, visible, visiblePlace } from "../../lib/text/invisible";
import { OF_REFERENCE } from "../../state/sample/differences";
import { render } from "../../state/browser/textOptions";
import { Divided, isPlain, type Marks } from "./Divided";
import { paint, type Place, rangesOf, show, STYLES } from "./paint";
import "./Text.css";

/** The most marks in one text: more take long to paint, and nobody looks at them all. */
const MAX_MARKS = 3000;

interface Props {
  text: string;
  /** The name of the text's part, for marks in it (state/sample/highlights.ts). */
  at?: string | undefined;
  /** The offset of the text within its part. */
  shift?: number;
  /** Places to mark in a part that does not belong to the sample on the screen. */
  hits?: readonly Span[] | undefined;
  /** Styled runs of a terminal's output, with places in the part. */
  styles?: PartView["styles"] | undefined;
}

const NO_STYLES: PartView["styles"] = [];

export function Text({ text, at, shift = 0, hits, styles = NO_STYLES }: Props) {
  const isVisible = render.value.visible;
  const drawn = useMemo(() => (isVisible ? visible(text) : text), [text, isVisible]);
  if (at === undefined && hits === undefined && !isVisible && styles.length === 0) return <Body drawn={drawn} />;
  return (
    <Marked at={at ?? ""} shift={shift} text={text} drawn={drawn} isVisible={isVisible} own={hits} styles={styles} />
  );
}

interface MarkedProps {
  at: string;
  shift: number;
  text: string;
  drawn: string;
  isVisible: boolean;
  own: readonly Span[] | undefined;
  styles: PartView["styles"];
}

/** Most texts need no element. */
function Body({ drawn, marks }: { drawn: string; marks?: Marks | undefined }) {
  return marks === undefined && isPlain(drawn) ? <>{drawn}</> : <Divided text={drawn} marks={marks} />;
}

/** A text with marked places. */
function Marked({ at, shift, text, drawn, isVisible, own, styles }: MarkedProps) {
  const session = useSession();
  const root = useRef<HTMLElement>(null);
  // A change redraws only the texts that it concerns, of perhaps thousands.
  const result = useComputed(() => session.highlights.spansOf(at, "find")).value;
  const searched = useComputed(() => session.highlights.spansOf(at, "search")).value;
  const hits = own ?? searched;
  const differs = useComputed(() => session.differences.ofPart(at)).value;
  const marks = useMemo(
    () => (differs.length === 0 ? undefined : shownMarks(at, differs, shift, isVisible ? text : null)),
    [at, differs, shift, isVisible, text],
  );
  const here = useComputed(() =>
    at !== "" && session.highlights.target.value?.span.at === at ? session.highlights.target.value : null,
  ).value;

  useLayoutEffect(() => {
    const element = root.current;
    if (element === null) return undefined;
    const places = (spans: readonly Span[]): Place[] =>
      spans.slice(0, MAX_MARKS).map((span) => placeOf(span, shift, isVisible ? text : null));
    const ends = [
      paint("search", rangesOf(element, places(hits))),
      paint("find", rangesOf(element, places(result))),
      paint("here", here === null ? [] : rangesOf(element, places([here.span]))),
      ...(isVisible ? [] : styled(element, styles, shift, drawn.length)),
      paint("special", isVisible && drawn.length <= WHOLE_CHARS ? rangesOf(element, specials(drawn)) : []),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [result, hits, here, drawn, isVisible, text, shift, marks, styles]);

  useEffect(() => {
    const element = root.current;
    if (element === null || here === null) return;
    const [range] = rangesOf(element, [placeOf(here.span, shift, isVisible ? text : null)]);
    if (range !== undefined) show(range);
    // Only the reader's request goes to a place; drawing the text again does not.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [here]);

  return (
    <span ref={root}>
      <Body drawn={drawn} marks={marks} />
    </span>
  );
}

/** Paint the colours that a terminal would show. */
function styled(element: Element, styles: PartView["styles"], shift: number, length: number): (() => void)[] {
  if (styles.length === 0) return [];
  const here = styles.filter(([start, stop]) => stop > shift && start < shift + length).slice(0, MAX_MARKS);
  return STYLES.map((word) => {
    const places = here.filter(([, , words]) => words.split(" ").includes(word));
    const within = places.map(([start, stop]) => ({
      start: Math.max(0, start - shift),
      stop: Math.min(length, stop - shift),
    }));
    return paint(word, rangesOf(element, within));
  });
}

/** The words that the other side lacks: those of the response count as inserted, those of the reference as deleted. */
function shownMarks(at: string, differs: readonly Span[], shift: number, hidden: string | null): Marks {
  const places = differs.map(({ start, stop }) => ({
    start: Math.max(0, start - shift),
    stop: Math.max(0, stop - shift),
  }));
  return {
    tag: at.startsWith(OF_REFERENCE) ? "del" : "ins",
    places: hidden === null ? places : visiblePlaces(hidden, places),
  };
}

/**
 * The place in the drawn text for a place in its part; `hidden` is the text whose invisible characters are made
 * visible.
 */
function placeOf({ start, stop }: Span, shift: number, hidden: string | null): Place {
  const from = Math.max(0, start - shift);
  const to = Math.max(from, stop - shift);
  return hidden === null
    ? { start: from, stop: to }
    : { start: visiblePlace(hidden, from), stop: visiblePlace(hidden, to) };
}
