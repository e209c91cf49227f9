/** The tokens as flowing text, with a card for the token at the pointer or the cursor. */

import { useSession } from "../../../state/useSession";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { effect } from "@preact/signals";
import { tint } from "../../../lib/tokens/scale";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { Session } from "../../../state/session";
import { announce } from "../../../ui/overlay/announce";
import { TOKENS_ID } from "../actions";
import { Card } from "../card/Card";
import { words } from "../card/words";
import { updatePaint } from "../update/updatePaint";
import { tokenAt } from "./pieces";
import type { Paint } from "./paint";
import { type Stretches, TokenFlow } from "./tokenFlow";
import style from "./Flow.module.css";

interface Props {
  tokens: TokenSample;
  label?: string;
  stretches?: Stretches;
  /** The session that chooses series and scale, folds and unfolds: two samples side by side share one. */
  lead?: Session | undefined;
}

export function FlowView({ tokens, label = "Tokens", stretches, lead }: Props) {
  const session = useSession();
  const { tokenLook: look } = session;
  const { folds } = lead ?? session;
  const host = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const flow = useRef<TokenFlow | null>(null);
  /** The element that had the focus before the tokens. */
  const origin = useRef<HTMLElement | null>(null);
  /** The token that the reader released: the next arrow key starts there. */
  const last = useRef<number | null>(null);

  useLayoutEffect(() => {
    const [element, inner] = [host.current, body.current];
    if (element === null || inner === null) return undefined;
    const drawn = new TokenFlow(inner, scrollerOf(element), tokens, paintOf(session, tokens, lead), stretches);
    flow.current = drawn;
    last.current = null;
    let isFirst = true;
    const painting = effect(() => {
      const paint = paintOf(session, tokens, lead);
      if (!isFirst) drawn.repaint(paint);
      isFirst = false;
    });
    return () => {
      painting();
      drawn.end();
      flow.current = null;
    };
  }, [tokens, session, stretches, lead]);

  // Outlines the current token, and scrolls to a token that a link or a key leads to.
  useEffect(() => {
    let marked: HTMLElement | null = null;
    return effect(() => {
      const token = look.chosen.value;
      marked?.classList.remove(style["current"] ?? "");
      marked = token === null ? null : (flow.current?.elementOf(token) ?? null);
      marked?.classList.add(style["current"] ?? "");
      host.current?.toggleAttribute("data-chosen", marked !== null);
    });
  }, [tokens, look]);
  useEffect(() => {
    let marked: HTMLElement | null = null;
    return effect(() => {
      const pointed = look.pointed.value;
      marked?.classList.remove(style["pointed"] ?? "");
      marked = pointed === null ? null : (flow.current?.shown(pointed.token) ?? null);
      marked?.classList.add(style["pointed"] ?? "");
    });
  }, [tokens, look]);
  useEffect(
    () =>
      effect(() => {
        const target = look.target.value;
        if (target !== null) flow.current?.elementOf(target.token)?.scrollIntoView({ block: "center" });
      }),
    [tokens, look],
  );
  useEffect(() => {
    const { round, isOpen } = folds.command.value;
    if (round > 0) flow.current?.turnAll(isOpen);
  }, [folds.command.value, tokens]);

  const move = (token: number): void => {
    look.current.value = { token, by: "keys" };
    flow.current?.elementOf(token)?.scrollIntoView({ block: "nearest" });
    announce(words(session, tokens, token), false);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const drawn = flow.current;
    if (drawn === null || event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey)
      return;
    const token = look.current.peek()?.token ?? null;
    const next = nextToken(drawn, event.key, token ?? last.current);
    if (next !== null && drawn.elementOf(next) !== null) move(next);
    else if (event.key !== "Escape") return;
    else if (token === null) leave(origin.current);
    else {
      last.current = token;
      look.leave();
    }
    event.preventDefault();
  };

  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- one listener for all tokens
    <div
      id={lead === undefined ? TOKENS_ID : undefined}
      class={style["flow"]}
      ref={host}
      data-scroll={lead === undefined ? "sample" : undefined}
      role="group"
      tabIndex={0}
      aria-label={`${label}, by arrow keys`}
      onKeyDown={onKeyDown}
      onFocus={(event) => {
        const from = event.relatedTarget;
        if (!(from instanceof Node && event.currentTarget.contains(from)))
          origin.current = from instanceof HTMLElement ? from : null;
      }}
      onPointerOver={(event) => {
        const token = tokenAt(event.target);
        if (look.current.peek()?.by !== "press" || token === null) hover(look, token);
      }}
      onPointerLeave={() => hover(look, null)}
      onClick={(event) => {
        const token = tokenAt(event.target);
        const at = look.current.peek();
        // A press beside the tokens, or on the same token again, releases it.
        const chosen = at?.by === "press" && at.token === token ? null : token;
        if (chosen === null && (at === null || at.by === "pointer")) return;
        look.current.value = chosen === null ? null : { token: chosen, by: "press" };
        session.place.go({ token: chosen }, "replace");
      }}
    >
      <div ref={body} />
      <Card
        tokens={tokens}
        elementOf={(token) => flow.current?.elementOf(token) ?? null}
        shown={(token) => flow.current?.shown(token) ?? null}
        scroller={host}
      />
    </div>
  );
}

type Look = Session["tokenLook"];

/** The token under the pointer has the card, unless the reader chose a token. */
function hover(look: Look, token: number | null): void {
  const at = look.current.peek();
  if (at !== null && at.by !== "pointer") return;
  if (at?.token !== token) look.current.value = token === null ? null : { token, by: "pointer" };
}

function leave(origin: HTMLElement | null): void {
  if (origin?.isConnected === true) origin.focus();
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

/** The token that a key leads to; null for another key. */
function nextToken(flow: TokenFlow, key: string, token: number | null): number | null {
  if (key === "Home") return flow.outermost(-1);
  if (key === "End") return flow.outermost(1);
  if (!key.startsWith("Arrow")) return null;
  if (token === null) return flow.outermost(-1);
  if (key === "ArrowLeft" || key === "ArrowRight") return flow.following(token, key === "ArrowLeft" ? -1 : 1);
  return flow.beside(token, key === "ArrowUp" ? -1 : 1);
}

/** The element that scrolls the tokens: themselves, or on a small screen the pane. */
function scrollerOf(element: HTMLElement): HTMLElement {
  const isOwn = getComputedStyle(element).overflowY === "auto";
  return isOwn ? element : (element.closest("main") ?? element);
}

/** How tokens look now; an effect that calls it runs again when that changes. */
function paintOf(session: Session, tokens: TokenSample, lead = session): Paint {
  if (session.place.field.tokensAs.value === "update") return updatePaint(session);
  const [chosen, scale] = [lead.tokenLook.series.value, lead.tokenLook.scale.value];
  const values = chosen === null ? undefined : tokens.named(chosen.name)?.values;
  const [first, second] = session.tokenMasks.chosen.value;
  return {
    background: (token) =>
      values === undefined || scale === null || tokens.trained[token] === 0 ? "" : tint(scale, values[token] ?? NaN),
    isFirst: (token) => first?.flags[token] === 1,
    isSecond: (token) => second?.flags[token] === 1,
  };
}
