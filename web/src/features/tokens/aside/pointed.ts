/** Links rows and text: a token under the pointer in one is marked in the other. */

import { effect } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { Session } from "../../../state/session";
import { useSession } from "../../../state/useSession";

/** The handlers of a row's button that mark its token in the text. */
export function pointing(look: Session["tokenLook"], token: number) {
  const point = (): void => {
    look.pointed.value = { token, series: null };
  };
  const leave = (): void => {
    look.pointed.value = null;
  };
  return { onPointerEnter: point, onPointerLeave: leave, onFocus: point, onBlur: leave };
}

/** Mark the row of the current token without drawing the table again. */
export function usePointedRow(body: RefObject<HTMLElement | null>, rows: readonly number[]): void {
  const { tokenLook: look } = useSession();
  useEffect(() => {
    let marked: Element | null | undefined;
    return effect(() => {
      const token = look.current.value?.token;
      marked?.removeAttribute("data-pointed");
      marked = token !== undefined && rows.includes(token) ? body.current?.children[rows.indexOf(token)] : null;
      marked?.setAttribute("data-pointed", "");
    });
  }, [body, look, rows]);
}
