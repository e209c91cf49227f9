import { expect, it } from "vitest";
import { draw, drawn, settled } from "../../testing/page";
import { useFollowed } from "./useFollowed";

const asked: ((value: string) => void)[] = [];
const load = async (): Promise<string> => new Promise((give) => asked.push(give));

function Shown({ of, version, what }: { of: string; version: string; what: string }) {
  return <p>{useFollowed(of, version, load, what).value ?? "nothing"}</p>;
}

it("answers about a run that grows faster than it answers, and asks about another thing at once", async () => {
  const host = await drawn(<Shown of="a" version="1" what="x" />);
  const show = async (of: string, version: string, what: string): Promise<(number | string)[]> => {
    draw(<Shown of={of} version={version} what={what} />, host);
    await settled();
    return [host.textContent, asked.length];
  };
  expect(await show("a", "2", "x")).toEqual(["nothing", 1]);
  expect(await show("a", "3", "x")).toEqual(["nothing", 1]);
  asked[0]?.("first");
  expect(await show("a", "3", "x")).toEqual(["first", 2]);
  expect(await show("a", "3", "y")).toEqual(["first", 3]);
  asked[2]?.("third");
  expect(await show("a", "3", "y")).toEqual(["third", 3]);
  expect(await show("b", "3", "y")).toEqual(["nothing", 4]);
});
