import { describe, expect, it } from "vitest";
import theme from "../../../public/theme.js?raw";
import { LEFT, restored } from "./settings";

describe("what was kept of the settings", () => {
  it("comes back", () => {
    expect(
      restored(
        JSON.stringify({
          theme: "dark",
          rewardColours: "safe",
          openAtEnd: false,
          padToken: "<pad>",
          charts: ["turns", 7, "?kind=group&name=mixed"],
          leftWidth: 400,
        }),
      ),
    ).toMatchObject({
      theme: "dark",
      rewardColours: "safe",
      openAtEnd: false,
      padToken: "<pad>",
      charts: ["turns", "?kind=group&name=mixed"],
      leftWidth: 400,
      rightOpen: null,
    });
  });
  it("may be anything", () => {
    for (const text of [null, "", "null", "[]", "7", "{", '{"theme":"x","leftWidth":"9","openAtEnd":1,"padToken":0}']) {
      expect(restored(text)).toMatchObject({
        theme: "system",
        leftWidth: LEFT.usual,
        openAtEnd: true,
        padToken: "",
        charts: null,
      });
    }
    expect(restored('{"leftWidth":1e9}').leftWidth).toBe(LEFT.most);
  });
  it("is read under the same names before the first paint", () => {
    for (const name of ["rolloupe.settings", "theme", "rewardColours"]) expect(theme).toContain(name);
  });
});
