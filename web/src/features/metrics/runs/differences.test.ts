import { expect, it } from "vitest";
import type { ConfigTable } from "../../../api/types.gen";
import { differencesOf } from "./differences";

const row = (key: string, ...values: (string | null)[]) => ({ key, differs: true, values, cut: [] });

function table(rows: ConfigTable["rows"], without: string[] = []): ConfigTable {
  const count = { keys: rows.length, differing: rows.length, total: rows.length, offset: 0, left: 0 };
  return { ...count, runs: ["a", "b"], rows, without };
}

it("of a configuration are its telling keys by their last parts, and all keys in full", () => {
  const both = table([
    row("actor.lr", "1e-6", "2e-6"),
    row("critic.lr", "1e-5", "3e-5"),
    row("output_dir", "/a", "/b"),
    row("rollout.temperature", "0.7999999999999999", null),
    row("seed", "1", "2"),
    row("system", "a long text about something", ""),
  ]);
  expect(differencesOf(both, "a")?.short).toBe("actor.lr 1e-6 · critic.lr 1e-5 · temperature 0.8");
  expect(differencesOf(both, "b")).toEqual({
    short: "actor.lr 2e-6 · critic.lr 3e-5 · temperature –",
    whole: "actor.lr 2e-6\ncritic.lr 3e-5\noutput_dir /b\nrollout.temperature –\nseed 2\nsystem ",
  });
});

it("are the seeds where nothing else differs, nothing where all is the same, and said to be missing", () => {
  expect(differencesOf(table([row("seed", "1", "2")]), "a")?.short).toBe("seed 1");
  expect(differencesOf(table([]), "a")).toBeNull();
  expect(differencesOf(table([], ["a"]), "a")?.short).toBe("no configuration");
});
