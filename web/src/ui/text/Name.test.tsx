import { expect, it } from "vitest";
import { drawn } from "../../testing/page";
import { Name } from "./Name";

it("breaks behind what joins its words, and is copied as it was written", async () => {
  const host = await drawn(<Name text="runs/max_response_length.v2" />);
  expect(host.innerHTML.split("<wbr>")).toEqual(["runs/", "max_", "response_", "length.", "v2"]);
  expect(host.textContent).toBe("runs/max_response_length.v2");
});
