/** What stands where content would: why there is none, and what to do. */

import type { ComponentChildren } from "preact";
import type { ApiError } from "../api";
import { sentence } from "../lib/words";
import style from "./State.module.css";

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

/** What failed, in whose words it may be, and the way on. */
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
