import { describe, expect, it } from "vitest";
import { part, turn } from "../../testing/records";
import { errorOf, results } from "./toolResults";

const call = (id: string) => part("tool_call", "", { call: { name: "f", arguments: "{}", id, error: "" } });

describe("results of calls", () => {
  it("are found by id, whatever their order", () => {
    const turns = [
      turn("assistant", [part("text", "x"), call("a"), call("b")]),
      turn("tool", [], { tool_call_id: "b" }),
      turn("tool", [], { tool_call_id: "a" }),
    ];
    expect([...results(turns, 10)]).toEqual([
      ["10.2", 11],
      ["10.1", 12],
    ]);
  });
  it("are one message for several calls where it names them all", () => {
    const turns = [
      turn("assistant", [call("a"), call("b"), call("c")]),
      turn("tool", [], { tool_call_id: "a, b" }),
      turn("tool", [], { tool_call_id: "c" }),
    ];
    expect([...results(turns, 0)]).toEqual([
      ["0.0", 1],
      ["0.1", 1],
      ["0.2", 2],
    ]);
  });
  it("are found in their order where nothing has an id", () => {
    const turns = [turn("assistant", [call(""), call("")]), turn("tool", []), turn("tool", []), turn("tool", [])];
    expect([...results(turns, 0)]).toEqual([
      ["0.0", 1],
      ["0.1", 2],
    ]);
  });
  it("are found by id where calls are turns of their own, and in the later turn where an id occurs again", () => {
    const items = [turn("assistant", [call("a")]), turn("assistant", [call("b")])];
    const both = [turn("tool", [], { tool_call_id: "a" }), turn("tool", [], { tool_call_id: "b" })];
    expect([...results([...items, ...both], 0)]).toEqual([
      ["0.0", 2],
      ["1.0", 3],
    ]);
    const again = [turn("assistant", [call("a"), call("a")]), turn("user", []), turn("assistant", [call("a")])];
    expect([...results([...again, turn("tool", [], { tool_call_id: "a" })], 0)]).toEqual([["2.0", 3]]);
    const twice = [turn("assistant", [call("a"), call("a")]), ...both, turn("tool", [], { tool_call_id: "a" })];
    expect([...results(twice, 0)]).toEqual([
      ["0.0", 1],
      ["0.1", 3],
    ]);
  });
  it("are none where the id names another call, or another turn came between", () => {
    expect([...results([turn("assistant", [call("a")]), turn("tool", [], { tool_call_id: "z" })], 0)]).toEqual([]);
    expect([...results([turn("assistant", [call("a")]), turn("user", []), turn("tool", [])], 0)]).toEqual([]);
  });
  it("say what went wrong", () => {
    expect([
      errorOf({ error: "no file" }),
      errorOf({ is_error: true }),
      errorOf({ is_error: false }),
      errorOf({}),
      errorOf(null),
    ]).toEqual(["no file", "error", "", "", ""]);
  });
});
