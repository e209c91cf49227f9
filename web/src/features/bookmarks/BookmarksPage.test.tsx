import { expect, it } from "vitest";
import { areMarksLoaded } from "../../state/marks";
import { drawn, settled } from "../../testing/page";
import { BookmarksPage } from "./BookmarksPage";

it("does not say that nothing is marked before it knows", async () => {
  const host = await drawn(<BookmarksPage />);
  expect(host.textContent).toContain("Loading bookmarks and notes");
  areMarksLoaded.value = true;
  await settled();
  expect(host.textContent).toContain("No bookmarks yet");
});
