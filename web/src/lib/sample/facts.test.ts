import { describe, expect, it } from "vitest";
import { reply } from "../../testing/records";
import { labelled } from "./facts";

const texts = (more: Parameters<typeof reply>[0]) =>
  Object.fromEntries(labelled(reply(more)).map(({ label, text }) => [label, text]));

describe("the figures of a sample", () => {
  it("hold every metric and tag, reward and advantage first", () => {
    const facts = [
      { name: "correct", kind: "metric", value: 1, label: "" },
      { name: "kl", kind: "metric", value: 0.002_134, label: "" },
      { name: "bench", kind: "tag", value: "NaN", label: "" },
    ];
    const found = labelled(reply({ advantage: 1.62, facts, env: "math" }));
    expect(found.slice(0, 2).map(({ label }) => label)).toEqual(["Reward", "Advantage"]);
    expect(texts({ advantage: 1.62, facts, env: "math" })).toMatchObject({
      Advantage: "+1.62",
      correct: "1",
      kl: "0.00213",
      bench: "NaN",
      Env: "math",
    });
  });
  it("end with what Rolloupe derives from the texts, by its label", () => {
    const facts = [
      { name: "derived.tool_calls", kind: "derived", value: 2, label: "Tool calls" },
      { name: "correct", kind: "metric", value: 1, label: "" },
    ];
    const last = labelled(reply({ facts })).at(-1);
    expect(last).toMatchObject({ label: "Tool calls", text: "2", field: "derived.tool_calls", by: 2 });
  });
  it("hold what the framework itself calls the sample, which no filter knows", () => {
    const facts = [
      { name: "rollout_id", kind: "own", value: "1200", label: "" },
      { name: "sample_index", kind: "own", value: 7, label: "" },
      { name: "group_index", kind: "own", value: 3, label: "" },
      { name: "total_length", kind: "own", value: 1500, label: "" },
    ];
    expect(texts({ facts })).toMatchObject({
      rollout_id: "1200",
      sample_index: "7",
      group_index: "3",
      total_length: "1,500",
    });
    for (const fact of labelled(reply({ facts })).slice(-4)) expect(fact).not.toHaveProperty("field");
  });
  it("say what is missing and what is not finite", () => {
    expect(texts({ reward: null })["Reward"]).toBe("none");
    expect(texts({ reward: "-Infinity" })["Reward"]).toBe("\u2212inf");
    expect(texts({ status: "unknown" })).not.toHaveProperty("Status");
  });
  it("keep the trainer's own word for the status, and why a sample was discarded", () => {
    expect(texts({ status: "truncated", status_raw: "length" })["Status"]).toBe("truncated (length)");
    expect(texts({ status: "completed", status_raw: "Completed" })["Status"]).toBe("completed");
    expect(texts({ discarded: "max_async" })["Discarded"]).toBe("max_async");
  });
  it("say once how a sample ended that was discarded for that", () => {
    const both = texts({ status: "truncated", status_raw: "length", discarded: "truncated" });
    expect(both["Discarded"]).toBe("truncated (length)");
    expect(both).not.toHaveProperty("Status");
    expect(texts({ status: "truncated", discarded: "max_async" })).toMatchObject({
      Status: "truncated",
      Discarded: "max_async",
    });
  });
  it("count tokens as far as they are known", () => {
    expect(texts({ response_tokens: 1089 })["Response tokens"]).toBe("1,089");
    expect(texts({ response_tokens: null, total_tokens: 2000 })["Tokens"]).toBe("2,000");
    expect(texts({ response_tokens: null })).not.toHaveProperty("Tokens");
  });
});
