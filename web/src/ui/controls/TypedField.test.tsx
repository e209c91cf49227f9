import { expect, it } from "vitest";
import { drawn } from "../../testing/page";
import { TypedField } from "./TypedField";

it("has room for all digits of a number", async () => {
  const host = await drawn(<TypedField type="number" value="0.8049999" take={() => undefined} />);
  expect(host.querySelector("input")?.style.minWidth).toBe("14ch");
});
