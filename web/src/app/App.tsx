/** The whole page. */

import { ExportCard } from "../features/export/ExportCard";
import { Frame } from "../features/frame/Frame";
import { Help } from "../features/help/Help";
import { Conflict } from "../features/marks/Conflict";
import { LinkDialog } from "../features/marks/LinkDialog";
import { Unkept } from "../features/marks/Unkept";
import { Palette } from "../features/palette/Palette";
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
      <Unkept />
      <p class={style["said"]} role="status">
        {said.value}
      </p>
    </>
  );
}
