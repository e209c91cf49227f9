/** Says that a text goes on in the raw record. */

import { figure } from "../../../lib/numbers/numbers";
import style from "./Cut.module.css";

export function Cut({ cut }: { cut: number }) {
  return cut > 0 ? <span class={style["cut"]}> … {figure(cut)} more characters are in the raw record.</span> : null;
}
