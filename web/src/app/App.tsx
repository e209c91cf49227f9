/** The whole page. */

import { ExportCard } from "../features/export";
import { Frame } from "./frame/Frame";
import { Help } from "../features/help";
import { AgreementCard } from "../features/judging";
import { SignedOut } from "../features/login";
import { Conflict, LinkDialog, UnsavedMarks } from "../features/marks";
import { Palette } from "../features/palette";
import { isLocked, isSignedOut } from "../state/browser/login";
import { announcement } from "../ui/overlay/announce";
import style from "./App.module.css";

export function App() {
  return (
    <>
      <Frame />
      <Help />
      <Palette />
      <ExportCard />
      <AgreementCard />
      <LinkDialog />
      <Conflict />
      {isSignedOut.value && !isLocked.value ? <SignedOut /> : <UnsavedMarks />}
      <p class={announcement.value.isSeen ? style["said"] : "hidden"} role="status">
        {announcement.value.words}
      </p>
    </>
  );
}
