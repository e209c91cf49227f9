/** An urgent message on any page: a bar above its foot, with buttons. */

import type { ComponentChildren } from "preact";
import style from "./Notice.module.css";

export function Notice({ children }: { children: ComponentChildren }) {
  return (
    <div class={style["bar"]} role="alert">
      {children}
    </div>
  );
}
