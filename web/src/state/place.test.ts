import { expect, it, vi } from "vitest";
import { START } from "../lib/address";
import { go, place, startPlace } from "./place";

startPlace();

const AT = { ...START, page: "rollouts" as const, run: "r", split: "train", step: 1 };

it("makes one entry of leafing, and another of leafing after Back", () => {
  const push = vi.spyOn(history, "pushState");
  place.value = AT;
  go({ sample: "train/1/0/0" });
  go({ sample: "train/1/0/1" });
  expect(push).toHaveBeenCalledTimes(1);
  dispatchEvent(new PopStateEvent("popstate"));
  place.value = AT;
  go({ sample: "train/1/0/2" });
  expect(push).toHaveBeenCalledTimes(2);
});
