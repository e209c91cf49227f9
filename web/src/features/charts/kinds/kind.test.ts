import { describe, expect, it } from "vitest";
import { sourceOf } from "../../../lib/charts/words/sources";
import { chart } from "../../../lib/charts/chart";
import { START } from "../../../lib/address/address";
import { createSession } from "../../../state/session";
import { kindOf } from "./index";

const session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 1 });

describe("a kind of charts that no version has", () => {
  it.each(["__proto__", "constructor", "toString", "unheard"])("is that of a sample metric: %s", (name) => {
    expect(kindOf(name)).toBe(kindOf("sample"));
    const entry = { kind: name, name: "n", title: "n", section: "Section" };
    expect(sourceOf(entry as Parameters<typeof sourceOf>[0])).toBe("Section");
    for (const kind of ["group", "outcome"]) expect(kindOf(kind).short(chart(kind, name), session)).toBe(name);
  });
});
