import { expect, it } from "vitest";
import { areMarksLoaded } from "../../state/marks";
import { drawn, settled } from "../../testing";
import { BookmarksPage } from "./BookmarksPage";

it("does not say that nothing is marked before it knows", async () => {
  const host = await drawn(<BookmarksPage />);
  expect(host.textContent).toContain("Opening what you marked");
  areMarksLoaded.value = true;
  await settled();
  expect(host.textContent).toContain("Nothing is marked yet");
});
