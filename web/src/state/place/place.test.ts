import { effect } from "@preact/signals";
import { createSession } from "../session";
import { expect, it, vi } from "vitest";
import { START } from "../../lib/address/address";

const session = createSession();

session.place.start();

const AT = { ...START, page: "rollouts" as const, run: "r", split: "train", step: 1 };

it("makes one entry of leafing, and another of leafing after Back", () => {
  const push = vi.spyOn(history, "pushState");
  session.place.now.value = AT;
  session.place.go({ sample: "train/1/0/0" });
  session.place.go({ sample: "train/1/0/1" });
  session.place.settle();
  expect(push.mock.calls.map(([, , address]) => address)).toEqual([expect.stringContaining("train/1/0/1")]);
  dispatchEvent(new PopStateEvent("popstate"));
  session.place.now.value = AT;
  session.place.go({ sample: "train/1/0/2" });
  session.place.settle();
  expect(push).toHaveBeenCalledTimes(2);
});

it("tells the browser of leafing late, and in time for whoever asks", () => {
  session.place.now.value = AT;
  session.place.go({ sample: "train/1/0/5" });
  session.place.settle();
  const replace = vi.spyOn(history, "replaceState");
  session.place.go({ sample: "train/1/0/6" });
  session.place.go({ sample: "train/1/0/7" });
  expect([session.place.now.value.sample, replace.mock.calls.length]).toEqual(["train/1/0/7", 0]);
  session.place.settle();
  session.place.settle();
  expect(replace.mock.calls.map(([, , address]) => address)).toEqual([expect.stringContaining("train/1/0/7")]);
  session.place.go({ sample: "train/1/0/8" });
  session.place.go({ page: "search" });
  expect(replace.mock.calls.map(([, , address]) => address)).toEqual([
    expect.stringContaining("train/1/0/7"),
    expect.stringContaining("train/1/0/8"),
  ]);
});

it("leads on from where one was until the frame, so that no link is written anew before it", () => {
  session.place.now.value = AT;
  session.place.go({ sample: "train/1/0/5" });
  session.place.settle();
  const link = session.place.href({ page: "search" });
  session.place.go({ sample: "train/1/0/6" });
  expect(session.place.href({ page: "search" })).toBe(link);
  session.place.settle();
  expect(session.place.href({ page: "search" })).toContain("train/1/0/6");
});

it("keeps the links to samples while only the sample changes", () => {
  session.place.now.value = AT;
  let drawn = 0;
  const links: string[] = [];
  const end = effect(() => {
    drawn += 1;
    links.push(session.place.href({ sample: "train/1/0/9" }));
  });
  session.place.go({ sample: "train/1/0/5" });
  session.place.settle();
  expect([drawn, session.place.href({ sample: "train/1/0/9" })]).toEqual([1, links[0]]);
  session.place.go({ view: "raw" });
  expect([drawn, links[1]]).toEqual([2, expect.stringContaining("view=raw")]);
  end();
});

it("lets the step of the charts follow a frame late", () => {
  session.place.now.value = AT;
  session.place.go({ step: 2 });
  expect([session.place.now.value.step, session.place.lateStep.value]).toEqual([2, 1]);
  session.place.settle();
  expect(session.place.lateStep.value).toBe(2);
});
