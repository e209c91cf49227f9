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
  const show = async (of: string, version: string, what: string, expected: [string, number]): Promise<void> => {
    draw(<Shown of={of} version={version} what={what} />, host);
    await settled();
    await expect.poll(() => [host.textContent, asked.length], { timeout: 10_000 }).toEqual(expected);
  };
  await show("a", "2", "x", ["nothing", 1]);
  await show("a", "3", "x", ["nothing", 1]);
  asked[0]?.("first");
  await show("a", "3", "x", ["first", 2]);
  await show("a", "3", "y", ["first", 3]);
  asked[2]?.("third");
  await show("a", "3", "y", ["third", 3]);
  await show("b", "3", "y", ["nothing", 4]);
});
