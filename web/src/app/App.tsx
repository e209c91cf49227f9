/** The whole page. */

import { ExportCard } from "../features/export/ExportCard";
import { Frame } from "../features/frame/Frame";
import { Help } from "../features/help/Help";
import { Shut } from "../features/login/Shut";
import { Conflict } from "../features/marks/Conflict";
import { LinkDialog } from "../features/marks/LinkDialog";
import { Unkept } from "../features/marks/Unkept";
import { Palette } from "../features/palette/Palette";
import { isLocked, isShut } from "../state/session";
import { said } from "../ui/said";
import style from "./App.module.css";

export function App() {
  return (
    <>
      <Frame />
      <Help />
      <Palette />
      <ExportCard />
      <LinkDialog />
      <Conflict />
      {isShut.value && !isLocked.value ? <Shut /> : <Unkept />}
      <p class={style["said"]} role="status">
        {said.value}
      </p>
    </>
  );
}
