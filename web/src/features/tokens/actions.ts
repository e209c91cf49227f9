/** The actions of the view Tokens. */

import { isAlone } from "../../api";
import type { TokensAs } from "../../lib/address/tokensAddress";
import { nameOfSample } from "../../lib/sample/name";
import type { TokenAction } from "../../lib/keymap";
import type { Session } from "../../state/session";
import { announce } from "../../ui/overlay/announce";
import { worstOfSample, worstPlace } from "./aside/worstRows";
import { words } from "./card/words";
import { copyTokens, saveTokens } from "./TokensFile";

/** The element with the tokens, as text or table: its own keys move between tokens. */
export const TOKENS_ID = "tokens";
const ORIGINS = ["recorded", "derived", "difference"];

/** True if an action of the view applies now. */
export function appliesToTokens({ tokens, tokenLook: look, place }: Session, action: TokenAction): boolean {
  const now = tokens.now.peek();
  if (!tokens.isWanted.peek() || now === null || now.count === 0) return false;
  if (action === "nextWorst" || action === "previousWorst") return look.drawn.peek() !== null;
  if (action !== "nextSeries" && action !== "previousSeries") return true;
  return now.series.length > 1 && place.now.peek().tokensAs !== "update";
}

export const tokenDoers = (session: Session): Record<TokenAction, () => void> => ({
  enterTokens: enter,
  nextWorst: () => goWorst(session, 1),
  previousWorst: () => goWorst(session, -1),
  nextSeries: () => turnSeries(session, 1),
  previousSeries: () => turnSeries(session, -1),
  form: () => turnForm(session),
  saveTokens: () => saveTokens(session),
  copyTokens: () => void copyTokens(session),
});

const tokensElement = (): HTMLElement | null => document.querySelector<HTMLElement>(`#${TOKENS_ID}`);

function enter(): void {
  tokensElement()?.focus({ preventScroll: true });
}

/** Go to the next of the worst tokens, in the order of the list; the first follows the last. */
function goWorst(session: Session, by: 1 | -1): void {
  const { tokens, tokenLook: look, tokenWorst: store, place, sample } = session;
  const [now, drawn, here] = [tokens.now.peek(), look.drawn.peek(), look.chosen.peek()];
  if (now === null || drawn === null) return;
  if (isAlone() || store.of.peek() === "sample" || place.now.peek().tokensAs === "update") {
    const token = nextOf(worstOfSample(now, drawn.series, look.range.peek()), (one) => one === here, by);
    if (token === undefined) return;
    look.goTo(token);
    enter();
    announce(words(session, now, token), false);
    return;
  }
  const id = sample.now.peek()?.id;
  const next = nextOf(store.rows.peek(), (one) => one.id === id && one.token === here, by);
  if (next === undefined) return;
  if (next.id === id) look.goTo(next.token);
  else place.go(worstPlace(next, drawn.series.name));
  announce(`${nameOfSample(next.id)}, token ${next.token}`, false);
}

function nextOf<T>(all: readonly T[], isHere: (one: T) => boolean, by: 1 | -1): T | undefined {
  const at = all.findIndex(isHere);
  return at < 0 ? all.at(by > 0 ? 0 : -1) : all[(at + by + all.length) % all.length];
}

/** Colour the tokens by the next series, in the order of the field. */
function turnSeries({ tokens, tokenLook: look }: Session, by: 1 | -1): void {
  const all = (tokens.now.peek()?.series ?? []).toSorted(
    (one, other) => ORIGINS.indexOf(one.origin) - ORIGINS.indexOf(other.origin),
  );
  const next = nextOf(all, ({ name }) => name === look.series.peek()?.name, by);
  if (next === undefined) return;
  look.chooseSeries(next.name);
  announce(`Colour: ${next.title || next.name}`);
}

function turnForm({ tokens, place }: Session): void {
  const forms: readonly TokensAs[] = [
    "text",
    "table",
    ...((tokens.now.peek()?.updates.length ?? 0) > 0 ? (["update"] as const) : []),
  ];
  const hadFocus = tokensElement()?.contains(document.activeElement) === true;
  place.go({ tokensAs: nextOf(forms, (one) => one === place.now.peek().tokensAs, 1) ?? "text" });
  if (hadFocus) queueMicrotask(enter);
}
