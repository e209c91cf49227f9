/** The whole page. */

import { Frame } from "../features/frame/Frame";
import { Help } from "../features/help/Help";
import { said } from "../ui/said";
import style from "./App.module.css";

export function App() {
  return (
    <>
      <Frame />
      <Help />
      <p class={style["said"]} role="status">
        {said.value}
      </p>
    </>
  );
}
