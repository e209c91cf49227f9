import { expect, it } from "vitest";
import { errorOf } from "./errorOf";

it("says what went wrong", () => {
  const logs = [{ error: "no file" }, { is_error: true }, { is_error: false }, {}, null];
  expect(logs.map(errorOf)).toEqual(["no file", "error", "", "", ""]);
});
