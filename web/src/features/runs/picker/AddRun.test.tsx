import { expect, it } from "vitest";
import type { RunItem } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
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
