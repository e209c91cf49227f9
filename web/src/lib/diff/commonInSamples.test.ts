import { expect, it } from "vitest";
import type { SampleItem } from "../../api/types.gen";
import { without } from "./commonWords";
import { bare } from "../sample/preview";
import { commonBeside } from "./commonInSamples";

const PLAIN = { prompt: bare, response: (response: string) => response, settings: "" };

const item = (group: number, index: number, response: string): SampleItem =>
  ({
    id: `train/0/${group}/${index}`,
    prompt: `Show your work in tags, and reach ${group} with these.`,
    response,
  }) as SampleItem;

const PAGE = [0, 1, 2].flatMap((group) =>
  ["add", "halve", "double"].map((word, index) =>
    item(group, index, `I need to reach ${group} with each of these once. Let me ${word} it first.`),
  ),
);

it("leaves of the samples of a group what tells them apart, and of prompts what tells groups apart", () => {
  const [first, second] = PAGE;
  if (first === undefined || second === undefined) throw new Error("no samples");
  const common = commonBeside(PAGE, second, PLAIN);
  expect(without(second.response, common.responses)).toBe("… halve it first.");
  expect(without(second.prompt, common.prompts)).toBe("… 0 with these.");
  expect(commonBeside(PAGE, first, PLAIN)).toBe(common);
});

it("compares what rows show, and again once the reader leaves out more", () => {
  const [first] = PAGE;
  if (first === undefined) throw new Error("no samples");
  const cut = (prompt: string): string => prompt.replace("Show your work in tags, and ", "");
  const common = commonBeside(PAGE, first, { ...PLAIN, prompt: cut, settings: "tags" });
  expect(cut(first.prompt).startsWith(common.prompts.start)).toBe(true);
  expect(commonBeside(PAGE, first, PLAIN).prompts.start).not.toBe(common.prompts.start);
});
