import { expect, it } from "vitest";
import { draw, settled } from "../../testing/page";
import { useAfterPaint } from "./useAfterPaint";

function Words({ words, of }: { words: string; of: string }) {
  return <p>{useAfterPaint(words, of)}</p>;
}

it("shows a value of another key a frame late, and another value of the same key at once", async () => {
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  draw(<Words words="first" of="1" />, host);
  expect(host.textContent).toBe("first");
  draw(<Words words="again" of="1" />, host);
  expect(host.textContent).toBe("again");
  draw(<Words words="second" of="2" />, host);
  expect(host.textContent).toBe("again");
  await settled();
  expect(host.textContent).toBe("second");
});
