import { expect, it } from "vitest";
import type { RunItem, StateItem } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { keyOf, NO_RUN_MARK } from "../../../lib/marks";
import { items, owners } from "../../../state/marks";
import { runs } from "../../../state/runs";
import { createSession } from "../../../state/session";
import { drawn } from "../../../testing/page";
import { AddRuns } from "./AddRun";

const run = (id: string): RunItem => ({ id, name: id, path: `/${id}`, splits: [] }) as unknown as RunItem;

it("the only other run is named, and one press compares with it", async () => {
  const session = createSession({ ...START, page: "compare", run: "a" });
  runs.value = [run("a"), run("b")];
  const page = await drawn(<AddRuns label="Compared runs:" button="Add a run" buttonClass="button" />, session);
  const button = page.querySelector("button");
  expect(button?.textContent).toBe("Compare with b");
  button?.click();
  expect(session.place.now.peek().over).toEqual(["b"]);
  session.end();
});

it("a run that a person hid is not offered by name, and can be found in the list", async () => {
  const session = createSession({ ...START, page: "compare", run: "a" });
  runs.value = [run("a"), run("b")];
  const before = [items.value, owners.value] as const;
  owners.value = [{ owner: "o", run: "b", name: "b", format: "", path: "" }];
  const mark = { ...NO_RUN_MARK, hidden: true };
  items.value = new Map([
    [
      keyOf("run", "o", ""),
      { kind: "run", owner: "o", name: "", by: "", run_mark: mark, sample_mark: null } as StateItem,
    ],
  ]);
  const page = await drawn(<AddRuns label="Compared runs:" button="Add a run" buttonClass="button" />, session);
  expect(page.textContent).not.toContain("Compare with");
  expect(page.textContent).toContain("Add a run");
  [items.value, owners.value] = before;
  session.end();
});
