import { expect, it, vi } from "vitest";
import { START } from "../lib/address";
import { go, href, place, settle, startPlace } from "./place";

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

it("tells the browser of leafing late, and in time for whoever asks", () => {
  place.value = AT;
  go({ sample: "train/1/0/5" });
  const replace = vi.spyOn(history, "replaceState");
  go({ sample: "train/1/0/6" });
  go({ sample: "train/1/0/7" });
  expect([place.value.sample, replace.mock.calls.length]).toEqual(["train/1/0/7", 0]);
  settle();
  settle();
  expect(replace.mock.calls.map(([, , address]) => address)).toEqual([expect.stringContaining("train/1/0/7")]);
  go({ sample: "train/1/0/8" });
  go({ page: "search" });
  expect(replace.mock.calls.map(([, , address]) => address)).toEqual([expect.stringContaining("train/1/0/7"), expect.stringContaining("train/1/0/8")]);
});

it("leads on from where one was until the frame, so that no link is written anew before it", () => {
  place.value = AT;
  go({ sample: "train/1/0/5" });
  const link = href({ page: "search" });
  go({ sample: "train/1/0/6" });
  expect(href({ page: "search" })).toBe(link);
  settle();
  expect(href({ page: "search" })).toContain("train/1/0/6");
});
