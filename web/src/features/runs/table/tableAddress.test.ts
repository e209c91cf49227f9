import { describe, expect, it } from "vitest";
import { format, parse } from "../../../lib/address/address";
import { chart } from "../../../lib/charts/chart";
import { askOf, choiceIn, type TableChoice } from "./tableAddress";

const metric = { chart: chart("trainer", "train/kl"), title: "KL & more", kind: "highest" } as const;
const there = (choice: TableChoice): TableChoice => {
  const place = { ...parse("", ""), ask: askOf(choice) };
  const [path = "", query = ""] = format(place).split("?");
  return choiceIn(parse(path, query).ask);
};

describe("the address of the table of runs", () => {
  it("has the metric of its column, with its title, and the order of its rows", () => {
    for (const sort of [null, { key: "metric", isDescending: true }, { key: "config:optim.lr", isDescending: false }])
      for (const one of [null, metric, { ...metric, kind: "last" } as const])
        expect(there({ metric: one, sort })).toEqual({ metric: one, sort });
  });
  it("is empty without any, and ignores what it does not know", () => {
    expect(format({ ...parse("", ""), ask: askOf({ metric: null, sort: null }) })).toBe("");
    expect(choiceIn({ curve: "?name=x", value: "median", rows: "" })).toEqual({ metric: null, sort: null });
    expect(choiceIn({ curve: "reward", value: "median" }).metric).toEqual({
      chart: chart("sample", "reward"),
      title: "reward",
      kind: "last",
    });
  });
});
