/** What the page must say at once, whatever it shows: a bar above its foot, with the ways on. */

import type { ComponentChildren } from "preact";
import style from "./Notice.module.css";

export function Notice({ children }: { children: ComponentChildren }) {
  return (
    <div class={style["bar"]} role="alert">
      {children}
    </div>
  );
}
