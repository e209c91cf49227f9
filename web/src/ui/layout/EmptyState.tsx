/** Fills the place of missing content: the reason for its absence, and what to do. */

import type { ComponentChildren } from "preact";
import type { ApiError } from "../../api";
import { sentence } from "../../lib/text/sentence";
import style from "./EmptyState.module.css";

interface Props {
  title: string;
  children?: ComponentChildren;
  isError?: boolean;
}

export function State({ title, children, isError = false }: Props) {
  return (
    <div class={style["state"]} role={isError ? "alert" : "status"}>
      <h2 class={isError ? style["error"] : undefined}>{title}</h2>
      {children}
    </div>
  );
}

/** A page without content, or without content yet; its title is for screen readers. */
export function Alone({ heading, children }: { heading: string; children: ComponentChildren }) {
  return (
    <main class={style["alone"]}>
      <h1 class="hidden">{heading}</h1>
      {children}
    </main>
  );
}

/** For screen readers only, because loading is quick; a page without other content shows it after a second. */
export function Loading() {
  return (
    <p class={`hidden ${style["loading"]}`} role="status">
      Loading
    </p>
  );
}

/** A part of the page, or its newer state, could not be loaded; the rest is shown. */
export function Missing({ error, again }: { error: ApiError; again: () => void }) {
  return (
    <p class={style["missing"]} role="alert">
      {sentence(error.message)}{" "}
      <button type="button" class="action strong" onClick={again}>
        Try again
      </button>
    </p>
  );
}

/** An error, and a button to retry. */
export function Failure({ error, again, what }: { error: ApiError; again?: () => void; what: string }) {
  return (
    <State title={`${what} could not be loaded`} isError>
      <p>{sentence(error.message)}</p>
      {error.next !== "" && <p>{sentence(error.next)}</p>}
      {again !== undefined && (
        <p>
          <button type="button" class="button" onClick={again}>
            Try again
          </button>
        </p>
      )}
    </State>
  );
}
