import { expect, it, vi } from "vitest";
import { copy } from "./clipboard";

it("copies out of an open dialog where the browser closes the clipboard to the page", async () => {
  document.body.innerHTML = "<dialog open></dialog>";
  vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new Error("closed"));
  let from: Element | null | undefined;
  document.execCommand = () => {
    from = document.querySelector("textarea")?.parentElement;
    return true;
  };
  expect(await copy("text")).toBe(true);
  expect(from?.localName).toBe("dialog");
  expect(document.querySelector("textarea")).toBeNull();
});
